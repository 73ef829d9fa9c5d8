/**
 * A page for people that shows the document: no script, every value escaped.
 *
 * @module
 */

import { html, raw } from "hono/html";
import type { OpenApiDocument, OpenApiOperation } from "../openapi.ts";

/** The style of the page. */
export const REFERENCE_STYLE =
  `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid color-mix(in srgb, currentColor 25%, transparent); }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 0.25rem 0.5rem; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); vertical-align: top; }
`;

/** Draws the page. */
export function referencePage({ info, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation }))
  );
  const page = html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>${info.title}: reference</title>
        <link rel="stylesheet" href="/v1/reference.css">
      </head>
      <body>
    <h1>${info.title} ${info.version}</h1>
    <p>${info.description}</p>
    <p>As OpenAPI 3.1: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
    <ul>${operations.map(({ operation: { operationId, summary } }) =>
      html`<li><a href="#${operationId}">${operationId}</a>: ${summary}</li>`
    )}</ul>
    ${operations.map(({ path, method, operation }) => operationSection(path, method, operation))}
    <h2 id="schemas">Schemas</h2>
    <pre>${JSON.stringify(components, null, 2)}</pre>
      </body>
    </html>
  `;
  return String(page);
}

function operationSection(path: string, method: string, operation: OpenApiOperation) {
  const { operationId, summary, description, parameters, requestBody, responses } = operation;
  const rows = parameters.map(({ name, in: where, required, schema }) =>
    html`
      <tr>
        <td><code>${name}</code></td>
        <td>${where}${required ? ", required" : ""}</td>
        <td><code>${JSON.stringify(schema)}</code></td>
      </tr>
    `
  );
  const table = rows.length === 0 ? raw("") : html`
    <table>
      <thead>
        <tr>
          <th>field</th>
          <th>where</th>
          <th>schema</th>
        </tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>
  `;
  const body = requestBody === undefined ? raw("") : html`
    <p>Body</p>
    <pre>${JSON.stringify(requestBody, null, 2)}</pre>
  `;
  return html`<section>
<h2 id="${operationId}">${operationId}</h2>
<p><code>${method.toUpperCase()} ${path}</code></p>
<p>${summary}. ${description}</p>
${table}${body}
<p>Answer</p><pre>${JSON.stringify(responses["200"], null, 2)}</pre>
</section>`;
}
