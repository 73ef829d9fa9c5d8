/**
 * From an HTTP request to a procedure's input: path, query and body become one object.
 *
 * @module
 */

import { err, ok, type Result } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type { SchemaObject } from "../json_schema.ts";

/** Reads a query; words become what the schema says they are, and stay words where they cannot. */
export function readQuery(
  query: URLSearchParams,
  schema: SchemaObject,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const field of new Set(query.keys())) {
    const kind = schema.properties?.[field]?.type;
    const words = query.getAll(field);
    if (kind === "array") input[field] = words;
    else input[field] = words.length === 1 ? readWord(words[0] ?? "", kind) : words;
  }
  return input;
}

/** Reads a JSON body with the fields of the path, which the body may not say again. */
export function readBody(
  text: string,
  path: Readonly<Record<string, string>>,
): Result<Record<string, unknown>, AdminError> {
  let body: unknown;
  try {
    body = text.trim() === "" ? {} : JSON.parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return err(new AdminError("validation", `Cannot read the body: ${why}`));
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return err(new AdminError("validation", "Cannot read the body: it is not an object"));
  }
  const twice = Object.keys(path).find((field) => Object.hasOwn(body, field));
  if (twice !== undefined) {
    const message = `Cannot read the body: ${twice} is given by the path`;
    return err(new AdminError("validation", message, { field: twice }));
  }
  return ok({ ...body, ...path });
}

function readWord(word: string, kind: string | undefined): unknown {
  if (kind === "integer" || kind === "number") {
    return /^-?\d+(\.\d+)?$/.test(word) ? Number(word) : word;
  }
  if (kind === "boolean") return word === "true" ? true : word === "false" ? false : word;
  return word;
}
