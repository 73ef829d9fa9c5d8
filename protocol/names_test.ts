import assert from "node:assert/strict";
import fc from "fast-check";
import { arbitraryJobId, arbitraryName } from "../tests/arbitrary_events.ts";
import { isJobId, nameProblem } from "./names.ts";

Deno.test("nameProblem() accepts what is one token and nothing else", () => {
  fc.assert(
    fc.property(arbitraryName, (name) => assert.equal(nameProblem("service", name), undefined)),
  );
  for (const bad of ["", "a.b", "a b", "*", ">", "é", "a\n", "x".repeat(65), "a/b", "$a"]) {
    for (const kind of ["service", "job type", "instance id"] as const) {
      assert.match(nameProblem(kind, bad) ?? "", new RegExp(`^the ${kind}`), JSON.stringify(bad));
    }
  }
});

Deno.test("nameProblem() reserves workers for services only", () => {
  assert.match(nameProblem("service", "workers") ?? "", /reserved/);
  assert.equal(nameProblem("job type", "workers"), undefined);
});

Deno.test("isJobId() takes canonical ULIDs only", () => {
  fc.assert(fc.property(arbitraryJobId, (id) => assert.equal(isJobId(id), true)));
  for (
    const bad of [
      "",
      "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
      "01JZ6N5V4T8Y3K2QX9W7R5M1A",
      "01JZ6N5V4T8Y3K2QX9W7R5M1AI",
    ]
  ) {
    assert.equal(isJobId(bad), false, bad);
  }
});
