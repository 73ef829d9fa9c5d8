import assert from "node:assert/strict";
import fc from "fast-check";
import { type Backoff, backoffMs, MAX_BACKOFF_MS, withJitterMs } from "./backoff.ts";

Deno.test("backoffMs() never leaves its bounds, whatever a function returns", () => {
  for (const wait of [NaN, Infinity, -Infinity, -1, 1e300, 0]) {
    const answer = backoffMs(() => wait, 1);
    assert.ok(answer >= 0 && answer <= MAX_BACKOFF_MS, String(wait));
  }
});

Deno.test("backoffMs() repeats the last entry and grows up to the most", () => {
  assert.deepEqual([1, 2, 3, 99].map((tries) => backoffMs([10, 20, 30], tries)), [10, 20, 30, 30]);
  const growing: Backoff = { policy: "exponential", firstMs: 100, factor: 3, maxMs: 1_000 };
  assert.deepEqual([1, 2, 3, 4].map((tries) => backoffMs(growing, tries)), [100, 300, 900, 1_000]);
  assert.equal(backoffMs({ policy: "fixed", everyMs: 7 }, 5), 7);
});

Deno.test("withJitterMs() stays within ten percent", () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(fc.property(fc.nat({ max: MAX_BACKOFF_MS }), random, (wait, value) => {
    const spread = withJitterMs(wait, () => value);
    assert.ok(Math.abs(spread - wait) <= wait * 0.1 + 1);
  }));
});
