import assert from "node:assert/strict";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { z } from "zod";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./standard_schema.ts";

type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

Deno.test("StandardSchema is the original interface: each is taken for the other", () => {
  const schema = z.string().transform(Number);
  const original: StandardSchemaV1<string, number> = schema;
  const ours: StandardSchema<string, number> = original;
  const back: StandardSchemaV1<string, number> = ours;
  assert.equal(back["~standard"].version, 1);
});

Deno.test("SchemaInput and SchemaOutput tell what goes in and what comes out", () => {
  const schema = z.string().transform(Number);
  const input: Identical<SchemaInput<typeof schema>, string> = true;
  const output: Identical<SchemaOutput<typeof schema>, number> = true;
  assert.ok(input && output);
});
