import assert from "node:assert/strict";
import { acceptsAllOf, canonicalJson, type JsonSchema } from "./schema_change.ts";

const object = (properties: Record<string, JsonSchema>, rest: object = {}): JsonSchema => ({
  type: "object",
  properties,
  ...rest,
});
const text: JsonSchema = { type: "string" };

/** Each row: before, after, and whether after accepts all that before accepted. */
const ROWS: [string, JsonSchema, JsonSchema, boolean][] = [
  ["the same", text, text, true],
  ["a description", text, { ...text, description: "new" }, true],
  ["anything", text, true, true],
  ["nothing", text, false, false],
  ["another type", text, { type: "number" }, false],
  ["one more type", text, { type: ["string", "null"] }, true],
  ["integer to number", { type: "integer" }, { type: "number" }, true],
  ["number to integer", { type: "number" }, { type: "integer" }, false],
  ["a type where there was none", {}, text, false],
  ["a wider enum", { enum: ["a"] }, { enum: ["a", "b"] }, true],
  ["a narrower enum", { enum: ["a", "b"] }, { enum: ["a"] }, false],
  ["an enum where there was none", text, { ...text, enum: ["a"] }, false],
  ["an enum no more", { ...text, enum: ["a"] }, text, true],
  ["a lower minimum", { minimum: 2 }, { minimum: 1 }, true],
  ["a higher minimum", { minimum: 1 }, { minimum: 2 }, false],
  ["a higher maximum", { maxLength: 1 }, { maxLength: 2 }, true],
  ["a minimum where there was none", {}, { minimum: 1 }, false],
  ["a pattern", text, { ...text, pattern: "a" }, false],
  ["required no more", object({ a: text }, { required: ["a"] }), object({ a: text }), true],
  ["required now", object({ a: text }), object({ a: text }, { required: ["a"] }), false],
  ["a narrower property", object({ a: text }), object({ a: { ...text, minLength: 1 } }), false],
  ["a new optional property", object({ a: text }), object({ a: text, b: text }), true],
  [
    "a schema for what was required without one",
    { type: "object", required: ["x"] },
    object({ x: text }, { required: ["x"] }),
    false,
  ],
  ["a property gone", object({ a: text, b: text }), object({ a: text }), true],
  [
    "a property gone from a closed object",
    object({ a: text, b: text }, { additionalProperties: false }),
    object({ a: text }, { additionalProperties: false }),
    false,
  ],
  ["closed now", object({ a: text }), object({ a: text }, { additionalProperties: false }), false],
  [
    "a new property that the rest did not allow",
    object({}, { additionalProperties: text }),
    object({ b: { type: "number" } }, { additionalProperties: text }),
    false,
  ],
  ["wider items", { items: { enum: ["a"] } }, { items: { enum: ["a", "b"] } }, true],
  ["narrower items", { items: text }, { items: { ...text, minLength: 1 } }, false],
  ["items where there were none", { type: "array" }, { type: "array", items: text }, false],
  ["one more branch", { anyOf: [text] }, { anyOf: [text, { type: "null" }] }, true],
  ["one branch less", { anyOf: [text, { type: "null" }] }, { anyOf: [text] }, false],
  ["what it does not understand", { if: text }, { if: { type: "null" } }, false],
  ["a changed definition", { $defs: { a: text } }, { $defs: { a: { type: "null" } } }, false],
];

Deno.test("acceptsAllOf() is right about every kind of change it knows and cautious otherwise", () => {
  for (const [what, before, after, accepted] of ROWS) {
    assert.equal(acceptsAllOf(before, after), accepted, what);
  }
});

Deno.test("canonicalJson() does not depend on the order of keys", () => {
  assert.equal(
    canonicalJson({ b: [1, { d: 1, c: 2 }], a: null }),
    '{"a":null,"b":[1,{"c":2,"d":1}]}',
  );
});
