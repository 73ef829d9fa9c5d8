import assert from "node:assert/strict";
import { parseKeyTemplate, valueOrThrow } from "../protocol/mod.ts";
import { deriveJobKey } from "./job_key.ts";

async function derived(template: readonly string[], payload: unknown): Promise<string> {
  const key = await deriveJobKey(valueOrThrow(parseKeyTemplate(template)), payload);
  return key.ok ? key.value.key : key.error.reason;
}

Deno.test("deriveJobKey() takes texts, whole numbers and booleans, and nothing else", async () => {
  const values: [unknown, string][] = [
    ["a", "a"],
    ["", ""],
    [42, "42"],
    [-0, "0"],
    [true, "true"],
    [1.5, "not-scalar"],
    [2 ** 60, "not-scalar"],
    [null, "not-scalar"],
    [[1], "not-scalar"],
    [{}, "not-scalar"],
    ["\ud800", "not-scalar"],
    [undefined, "missing"],
    ["x".repeat(2_000), "too-long"],
  ];
  for (const [value, wanted] of values) assert.equal(await derived(["/v"], { v: value }), wanted);
});

Deno.test("deriveJobKey() follows pointers only into what the payload itself has", async () => {
  const payload = { "a/b": [{ "~": "deep" }], list: ["x"] };
  assert.equal(await derived(["k", "/a~1b/0/~0"], payload), "k:deep");
  for (const pointer of ["/list/length", "/list/01", "/list/-1", "/toString", "/a~1b/0/x"]) {
    assert.equal(await derived([pointer], payload), "missing", pointer);
  }
});

Deno.test("deriveJobKey() tells 42 from its text", async () => {
  const template = valueOrThrow(parseKeyTemplate(["/v"]));
  const [number, text] = [
    await deriveJobKey(template, { v: 42 }),
    await deriveJobKey(template, { v: "42" }),
  ];
  assert.ok(number.ok && text.ok);
  assert.equal(number.value.key, text.value.key);
  assert.notEqual(number.value.keyHash, text.value.keyHash);
});
