import assert from "node:assert/strict";
import { asyncResult, err, ok, type Result, valueOrThrow } from "./result.ts";

Deno.test("asyncResult() is awaited as a result and never rejects unasked", async () => {
  const failed = asyncResult(Promise.resolve<Result<number, string>>(err("full")));
  assert.deepEqual(await failed, { ok: false, error: "full" });
  assert.ok(failed instanceof Promise);
});

Deno.test("orThrow() gives the value, the error itself, or an error with its message", async () => {
  assert.equal(await asyncResult(Promise.resolve(ok(7))).orThrow(), 7);
  const cause = new RangeError("too many");
  await assert.rejects(
    asyncResult(Promise.resolve(err(cause))).orThrow(),
    (thrown) => thrown === cause,
  );
  assert.throws(() => valueOrThrow(err({ message: "said so" })), /said so/);
  assert.throws(() => valueOrThrow(err("text")), /text/);
});
