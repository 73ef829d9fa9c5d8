/**
 * The OpenAPI 3.1 document, made from the table.
 *
 * @module
 */

import { ADMIN_ERRORS, errorEnvelopeSchema } from "./errors.ts";
import { type SchemaObject, toJsonSchema } from "./json_schema.ts";
import { sequencedEvent } from "./messages/jobs.ts";
import { PROCEDURE_NAMES, type ProcedureName, PROCEDURES } from "./procedures.ts";
import { WATCH_PARAMETERS } from "./watch_request.ts";

/** An operation of the document. */
export interface OpenApiOperation {
  /** The procedure. */
  readonly operationId: string;
  /** What it does. */
  readonly summary: string;
  /** More about it. */
  readonly description: string;
  /** What stands in path and query. */
  readonly parameters: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required: boolean;
    readonly schema: SchemaObject;
  }[];
  /** The body. */
  readonly requestBody?: object;
  /** Answers by status. */
  readonly responses: Readonly<Record<string, object>>;
}

/** The document. */
export interface OpenApiDocument {
  /** Version of the document's form. */
  readonly openapi: "3.1.1";
  /** What it describes. */
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  /** Where it is served. */
  readonly servers: readonly { readonly url: string }[];
  /** Operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  /** What operations refer to. */
  readonly components: object;
  /** How one says who asks. */
  readonly security: readonly object[];
}

/** Version of the API: it changes when a caller could notice. */
const API_VERSION = "1.0.0";
const JSON_TYPE = "application/json";
const ERROR_REFERENCE = { $ref: "#/components/schemas/ErrorEnvelope" };

/**
 * Makes the document.
 *
 * @example
 * ```ts
 * import { openApiDocument } from "./openapi.ts";
 * import assert from "node:assert/strict";
 *
 * const { paths } = openApiDocument();
 * assert.equal(paths["/v1/jobs"]?.["get"]?.operationId, "List");
 * ```
 */
export function openApiDocument(): OpenApiDocument {
  const named: Record<string, SchemaObject> = {};
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const use = (made: { schema: SchemaObject; named: Readonly<Record<string, SchemaObject>> }) => {
    Object.assign(named, made.named);
    return made.schema;
  };
  for (const name of PROCEDURE_NAMES) {
    const { http: { method, path }, input, output } = PROCEDURES[name];
    const request = use(toJsonSchema(input, "input"));
    const operation = describe(name, request, use(toJsonSchema(output, "output")));
    paths[path] = { ...paths[path], [method]: operation };
  }
  paths["/v1/watch"] = { get: watchOperation() };
  use(toJsonSchema(sequencedEvent, "output"));
  const envelope = use(toJsonSchema(errorEnvelopeSchema, "output"));
  return {
    openapi: "3.1.1",
    info: {
      title: "Trellis Jobs admin",
      version: API_VERSION,
      description: "Every job visible, every action an event. The same procedures answer NATS " +
        "requests on rpc.v1.Jobs.<operationId>, with the whole input as JSON body.",
    },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: { ErrorEnvelope: envelope, ...named },
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    },
    security: [{ bearer: [] }],
  };
}

function describe(
  name: ProcedureName,
  request: SchemaObject,
  answer: SchemaObject,
): OpenApiOperation {
  const { http: { method, path }, summary, capability } = PROCEDURES[name];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
  const fields = Object.entries(request.properties ?? {});
  const required = request.required ?? [];
  const parameters = fields.filter(([field]) => method === "get" || inPath.includes(field))
    .map(([field, schema]) => ({
      name: field,
      in: inPath.includes(field) ? "path" as const : "query" as const,
      required: inPath.includes(field) || required.includes(field),
      schema,
    }));
  return {
    operationId: name,
    summary,
    description: `Needs the capability ${capability}.`,
    parameters,
    ...(method === "post" && { requestBody: bodyOf(request, inPath) }),
    responses: {
      "200": { description: "Done", content: { [JSON_TYPE]: { schema: answer } } },
      ...errorResponses(),
    },
  };
}

function bodyOf(request: SchemaObject, inPath: readonly string[]): object {
  const fields = Object.entries(request.properties ?? {})
    .filter(([field]) => !inPath.includes(field));
  const required = (request.required ?? []).filter((field) => !inPath.includes(field));
  const schema = {
    ...request,
    properties: Object.fromEntries(fields),
    ...(required.length > 0 ? { required } : { required: undefined }),
  };
  return {
    required: true,
    content: { [JSON_TYPE]: { schema: JSON.parse(JSON.stringify(schema)) } },
  };
}

function errorResponses(): Record<string, object> {
  const byStatus = new Map<number, string[]>();
  for (const [code, { status }] of Object.entries(ADMIN_ERRORS)) {
    byStatus.set(status, [...byStatus.get(status) ?? [], code]);
  }
  return Object.fromEntries([...byStatus].map(([status, codes]) => [String(status), {
    description: codes.join(", "),
    content: { [JSON_TYPE]: { schema: ERROR_REFERENCE } },
  }]));
}

function watchOperation(): OpenApiOperation {
  return {
    operationId: "Watch",
    summary: "Sends events as they are stored, as server-sent events; HTTP only",
    description:
      "Needs the capability admin.stream. Each event has the place in the stream as its " +
      "id, its type as its name and a SequencedEvent as its data; a client that comes back with " +
      "Last-Event-ID misses nothing that is still in the stream.",
    parameters: WATCH_PARAMETERS,
    responses: {
      "200": {
        description: "Events",
        content: { "text/event-stream": { schema: { type: "string" } } },
      },
      ...errorResponses(),
    },
  };
}
