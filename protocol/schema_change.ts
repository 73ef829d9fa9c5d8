/**
 * Whether a changed JSON Schema still accepts everything that the old one accepted.
 *
 * @module
 */

/** A JSON Schema as recorded: an object of keywords, or a boolean. */
export type JsonSchema = boolean | Keywords;

/** The keywords of a JSON Schema object. */
export type Keywords = { readonly [keyword: string]: unknown };

/** Keywords that do not judge by themselves: descriptions, and what `propertiesAccept` looks at. */
const SILENT = new Set([
  "properties",
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

/** Bounds that accept more when they fall (or go). */
const LOWER_BOUNDS = new Set([
  "minimum",
  "exclusiveMinimum",
  "minLength",
  "minItems",
  "minProperties",
]);
/** Bounds that accept more when they rise (or go). */
const UPPER_BOUNDS = new Set([
  "maximum",
  "exclusiveMaximum",
  "maxLength",
  "maxItems",
  "maxProperties",
]);
const INDEPENDENT = new Set([
  ...LOWER_BOUNDS,
  ...UPPER_BOUNDS,
  "type",
  "enum",
  "const",
  "required",
  "additionalProperties",
  "anyOf",
  "oneOf",
  "allOf",
  "not",
  "pattern",
  "format",
  "multipleOf",
  "uniqueItems",
]);

/**
 * Tells whether `after` surely accepts every value that `before` accepted. Cautious: what it does
 * not understand counts as a refusal. A new optional property counts as accepted.
 *
 * @example
 * ```ts
 * import { acceptsAllOf } from "./schema_change.ts";
 * import assert from "node:assert/strict";
 *
 * const before = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
 * assert.equal(acceptsAllOf(before, { ...before, required: [] }), true);
 * assert.equal(acceptsAllOf({ ...before, required: [] }, before), false);
 * ```
 */
export function acceptsAllOf(before: JsonSchema, after: JsonSchema): boolean {
  if (after === true || before === false) return true;
  if (after === false) return false;
  const old = before === true ? {} : before;
  const keywords = new Set([...Object.keys(old), ...Object.keys(after)]);
  return propertiesAccept(old, after) &&
    [...keywords].every((keyword) =>
      SILENT.has(keyword) || keywordAccepts(keyword, old[keyword], after[keyword])
    );
}

/** Writes a JSON value with sorted keys, so that equal schemas are equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, field]) => field !== undefined).sort((
    [a],
    [b],
  ) => a < b ? -1 : 1);
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`)}}`;
}

function keywordAccepts(keyword: string, before: unknown, after: unknown): boolean {
  if (canonicalJson(before) === canonicalJson(after)) return true;
  // A judgement that is gone accepts more, if no other keyword leans on it.
  if (after === undefined) return INDEPENDENT.has(keyword);
  if (keyword === "type") return isSubset(typesOf(before), typesOf(after));
  if (keyword === "enum") return before !== undefined && isSubset(asList(before), asList(after));
  if (keyword === "required") return isSubset(asList(after), asList(before));
  if (keyword === "items" || keyword === "additionalProperties") {
    return isSchema(after) && acceptsAllOf(isSchema(before) ? before : true, after);
  }
  if (keyword === "anyOf") return before !== undefined && isSubset(asList(before), asList(after));
  if (typeof before !== "number" || typeof after !== "number") return false;
  if (LOWER_BOUNDS.has(keyword)) return after <= before;
  return UPPER_BOUNDS.has(keyword) && after >= before;
}

/** `properties` and `additionalProperties` judge together: what one does not name, the other sees. */
function propertiesAccept(before: Keywords, after: Keywords): boolean {
  const [old, now] = [asRecord(before["properties"]), asRecord(after["properties"])];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].every((name) => {
    const isNew = old[name] === undefined;
    const oldRest = before["additionalProperties"] ?? true;
    // Nobody sent what had no name; what was required without a schema of its own was sent.
    if (isNew && oldRest === true) return !asList(before["required"]).includes(name);
    const oldSchema = isNew ? oldRest : old[name];
    const newSchema = now[name] ?? after["additionalProperties"] ?? true;
    return isSchema(oldSchema) && isSchema(newSchema) && acceptsAllOf(oldSchema, newSchema);
  });
}

/** `number` accepts what `integer` accepts. */
function typesOf(type: unknown): unknown[] {
  const list = type === undefined ? ANY_TYPE : Array.isArray(type) ? type : [type];
  return list.includes("number") ? [...list, "integer"] : list;
}

const ANY_TYPE = ["object", "array", "string", "number", "boolean", "null"];

function isSubset(small: readonly unknown[], large: readonly unknown[]): boolean {
  const texts = new Set(large.map(canonicalJson));
  return small.every((value) => texts.has(canonicalJson(value)));
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "boolean" || isObject(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
