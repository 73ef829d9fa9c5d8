import assert from "node:assert/strict";
import { DEFAULT_BACKOFF_MS } from "./backoff.ts";
import { MAX_QUEUED_PER_KEY, type QueueOptions, resolveQueue } from "./queue.ts";

Deno.test("resolveQueue() fills in the documented defaults", () => {
  assert.deepEqual(resolveQueue("charge", {}), {
    maxDeliver: 5,
    backoffMs: DEFAULT_BACKOFF_MS,
    ackWaitMs: 300_000,
    concurrency: 1,
    progress: true,
    logs: true,
    dlq: true,
  });
});

Deno.test("resolveQueue() derives lease times from ackWaitMs", () => {
  const keys = (ackWaitMs: number) =>
    resolveQueue("sync", { ackWaitMs, keyConcurrency: { key: ["/id"] } });
  assert.deepEqual(keys(300_000).keyConcurrency, {
    key: ["/id"],
    maxActive: 1,
    heartbeatIntervalMs: 30_000,
    heartbeatTtlMs: 390_000,
    stalePolicy: "fail-stale",
  });
  assert.equal(keys(3_000).keyConcurrency?.heartbeatIntervalMs, 1_000);
  assert.equal(keys(3_000).keyConcurrency?.heartbeatTtlMs, 6_000);
  assert.deepEqual(keys(3_000).queue, { maxQueuedPerKey: 0, whenFull: "reject" });
});

Deno.test("resolveQueue() refuses an illegal definition with a sentence that names it", () => {
  const key = { key: ["/id"] };
  const refused: [QueueOptions, RegExp][] = [
    [{ maxDeliver: 0 }, /maxDeliver is 0, not a whole number from 1/],
    [{ maxDeliver: 1.5 }, /maxDeliver is 1.5/],
    [{ ackWaitMs: 10 }, /ackWaitMs is 10/],
    [{ concurrency: 10_001 }, /concurrency is 10001/],
    [{ timeoutMs: 2 ** 31 }, /timeoutMs is 2147483648/],
    [{ defaultDeadlineMs: -1 }, /defaultDeadlineMs is -1/],
    [{ backoffMs: [] }, /backoffMs is empty/],
    [{ backoffMs: [1, -1] }, /backoffMs\[1\] is -1/],
    [{ backoffMs: { policy: "fixed", everyMs: NaN } }, /backoffMs.everyMs is NaN/],
    [{ backoffMs: { policy: "exponential", firstMs: 1, factor: 0 } }, /factor is 0/],
    [{ queue: { maxQueuedPerKey: 1 } }, /queue is given without keyConcurrency/],
    [{ keyConcurrency: { key: [] } }, /template is empty/],
    [{ keyConcurrency: { key: ["/a~2"] } }, /has a ~ that is not ~0 or ~1/],
    [{ keyConcurrency: { ...key, maxActive: 0 } }, /maxActive is 0/],
    [
      { keyConcurrency: { ...key, heartbeatIntervalMs: 500, heartbeatTtlMs: 500 } },
      /heartbeatTtlMs is 500, it must exceed heartbeatIntervalMs, which is 500/,
    ],
    [
      { keyConcurrency: key, queue: { maxQueuedPerKey: MAX_QUEUED_PER_KEY + 1 } },
      /maxQueuedPerKey is 1001/,
    ],
  ];
  for (const [options, message] of refused) {
    assert.throws(() => resolveQueue("charge", options), message);
    assert.throws(() => resolveQueue("charge", options), /^RangeError: Cannot define the queue/);
  }
  assert.throws(() => resolveQueue("not.legal", {}), TypeError);
});

Deno.test("resolveQueue() refuses a policy that JavaScript authors may misspell", () => {
  const options = JSON.parse(`{"keyConcurrency":{"key":["/a"]},"queue":{"whenFull":"drop"}}`);
  assert.throws(() => resolveQueue("charge", options), /whenFull is "drop", known are reject/);
  const stale = JSON.parse(`{"keyConcurrency":{"key":["/a"],"stalePolicy":"ignore"}}`);
  assert.throws(() => resolveQueue("charge", stale), /stalePolicy is "ignore"/);
});
