import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { err } from "../protocol/mod.ts";
import { createAbandonment } from "./_abandonment.ts";
import type { TryOutcome } from "./decide.ts";
import { JobAborted, JobFailed, RetryAfter, Snooze } from "./handler_signals.ts";
import { describeThrown, outcomeOf, perform, type RunHandler } from "./perform.ts";

const never = () => new Promise<JobAborted>(() => {});
const result = z.object({ list: z.array(z.string()) });

function run(handler: RunHandler, schema?: typeof result): Promise<TryOutcome> {
  return perform({ run: handler, abandoned: never, result: schema });
}

function fail(thrown: unknown): never {
  throw thrown;
}

Deno.test("perform() returns what fits the schema, and nothing without a schema", async () => {
  const value = { list: ["a"] };
  assert.deepEqual(await run(() => value, result), { kind: "returned", result: value });
  assert.deepEqual(await run(() => Promise.resolve(value)), {
    kind: "returned",
    result: undefined,
  });
});

Deno.test("perform() fails a result that does not fit, and says where", async () => {
  const outcome = await run(() => ({ list: ["a", 1] }), result);
  assert.ok(outcome.kind === "failed");
  assert.match(outcome.message, /^Cannot complete: the result does not fit, list\.1: /);
});

Deno.test("perform() takes a throw, a rejection and err() alike", async () => {
  const threw = { kind: "threw", message: "boom" };
  assert.deepEqual(await run(() => fail(new Error("boom"))), threw);
  assert.deepEqual(await run(() => Promise.reject(new Error("boom"))), threw);
  assert.deepEqual(await run(() => err("boom")), threw);
  assert.deepEqual(await run(() => err(new Error("boom")), result), threw);
  assert.equal((await run(() => err(new JobFailed("no")))).kind, "failed");
});

Deno.test("perform() goes on without a handler that was abandoned", async () => {
  const abandoned = Promise.resolve(new JobAborted("timeout", "too long"));
  const outcome = await perform({
    run: never,
    abandoned: () => abandoned,
    result: undefined,
  });
  assert.deepEqual(outcome, { kind: "threw", message: "too long" });
});

Deno.test("outcomeOf() knows what a handler can say, also from another copy of this package", () => {
  assert.deepEqual(outcomeOf(new JobFailed("no")), { kind: "failed", message: "no" });
  const later = outcomeOf(new RetryAfter(7, "busy"));
  assert.deepEqual(later, { kind: "retry-after", message: "busy", delayMs: 7 });
  const snoozed = outcomeOf(new Snooze(9));
  assert.deepEqual(snoozed, { kind: "snoozed", message: "snoozed for 9 ms", delayMs: 9 });
  const copy = Object.assign(new Error("busy"), { name: "RetryAfter", delayMs: 5 });
  assert.deepEqual(outcomeOf(copy), { kind: "retry-after", message: "busy", delayMs: 5 });
  assert.equal(outcomeOf({ name: "JobFailed", message: "only looks like it" }).kind, "threw");
  assert.throws(() => new Snooze(-1), RangeError);
  assert.throws(() => new RetryAfter(NaN), RangeError);
});

Deno.test("describeThrown() says something about whatever was thrown, and never throws", () => {
  const unspeakable = [
    Object.create(null),
    { toString: () => fail("no") },
    Object.defineProperty({}, "message", { get: () => fail("no") }),
    Object.defineProperty(new Error(), "message", { get: () => fail("no") }),
    { message: Symbol("s") },
  ];
  for (const thrown of unspeakable) assert.notEqual(describeThrown(thrown), "");
  fc.assert(fc.property(fc.anything(), (thrown) => {
    assert.equal(typeof describeThrown(thrown), "string");
  }));
  assert.equal(describeThrown(new TypeError()), "TypeError");
  assert.equal(describeThrown("x".repeat(5_000)).length, 2_001);
});

Deno.test("explain() takes another job's abort for an error: nobody has ended this one", () => {
  const foreign = outcomeOf(new JobAborted("cancelled", "of another job"));
  assert.deepEqual(createAbandonment().explain(foreign), {
    kind: "threw",
    message: "of another job",
  });
});

Deno.test("explain() lets the first abort decide how the try ended", () => {
  const returned: TryOutcome = { kind: "returned", result: 1 };
  const cancelled = createAbandonment();
  cancelled.abort(new JobAborted("cancelled", "by ann"));
  cancelled.abort(new JobAborted("superseded", "later"));
  const told = { kind: "aborted", reason: "cancelled", message: "by ann" };
  for (const outcome of [returned, { kind: "threw", message: "x" } as const]) {
    assert.deepEqual(cancelled.explain(outcome), told);
  }
  assert.ok(cancelled.signal().reason instanceof JobAborted);
  assert.equal(cancelled.signal().reason.reason, "cancelled");
});
