import assert from "node:assert/strict";
import fc from "fast-check";
import { addDurations, durationQuantileMs, durationSize, NO_DURATIONS } from "./durations.ts";
import type { Durations } from "./statistics.ts";

function durationsOf(values: readonly number[]): Durations {
  return addDurations(values.map((value) => ({
    count: 1,
    sumMs: value,
    sizes: { [durationSize(value)]: 1 },
  })));
}

Deno.test("durationQuantileMs() is right within a fifth", () => {
  const values = fc.array(fc.integer({ min: 1, max: 100_000_000 }), {
    minLength: 1,
    maxLength: 50,
  });
  fc.assert(fc.property(values, fc.constantFrom(0.5, 0.95, 0.99), (durations, share) => {
    const sorted = durations.toSorted((a, b) => a - b);
    const exact = sorted[Math.max(1, Math.ceil(sorted.length * share)) - 1] ?? 0;
    const found = durationQuantileMs(durationsOf(durations), share) ?? 0;
    assert.ok(found / exact < 1.2 && exact / found < 1.2, `${found} for ${exact}`);
  }));
});

Deno.test("durationQuantileMs() of nothing is nothing", () => {
  assert.equal(durationQuantileMs(NO_DURATIONS, 0.5), undefined);
});
