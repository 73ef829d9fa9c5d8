/**
 * Durations of many jobs, counted by size so that they can be added up and asked for quantiles.
 *
 * @module
 */

import type { Durations } from "./statistics.ts";

/** No duration yet. */
export const NO_DURATIONS: Durations = { count: 0, sumMs: 0, sizes: {} };

/** Sizes per doubling: two, so that a quantile is right within a fifth. */
const PER_DOUBLING = 2;

/**
 * Gives the size that a duration is counted under.
 *
 * @example
 * ```ts
 * import { durationSize } from "./durations.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual([0, 1, 2, 1024].map(durationSize), [0, 0, 2, 20]);
 * ```
 */
export function durationSize(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.round(PER_DOUBLING * Math.log2(durationMs));
}

/**
 * Gives the duration below which a share of all lies, or `undefined` when there is none; 0.5 is the
 * median. Right within a fifth.
 *
 * @example
 * ```ts
 * import { durationQuantileMs } from "./durations.ts";
 * import assert from "node:assert/strict";
 *
 * const durations = { count: 4, sumMs: 1030, sizes: { "2": 3, "20": 1 } };
 * assert.equal(durationQuantileMs(durations, 0.5), 2);
 * assert.equal(durationQuantileMs(durations, 0.99), 1024);
 * ```
 */
export function durationQuantileMs(durations: Durations, share: number): number | undefined {
  const sizes = Object.entries(durations.sizes).map(([size, count]) =>
    [Number(size), count] as const
  )
    .sort(([a], [b]) => a - b);
  let left = Math.max(1, Math.ceil(durations.count * share));
  for (const [size, count] of sizes) {
    left -= count;
    if (left <= 0) return 2 ** (size / PER_DOUBLING);
  }
  return undefined;
}

/**
 * Adds durations up: of several spans, or of several queues.
 *
 * @example
 * ```ts
 * import { addDurations } from "./durations.ts";
 * import assert from "node:assert/strict";
 *
 * const one = { count: 1, sumMs: 2, sizes: { "2": 1 } };
 * assert.deepEqual(addDurations([one, one]), { count: 2, sumMs: 4, sizes: { "2": 2 } });
 * ```
 */
export function addDurations(all: Iterable<Durations>): Durations {
  let [count, sumMs] = [0, 0];
  const sizes: Record<string, number> = {};
  for (const durations of all) {
    count += durations.count;
    sumMs += durations.sumMs;
    for (const [size, more] of Object.entries(durations.sizes)) {
      sizes[size] = (sizes[size] ?? 0) + more;
    }
  }
  return { count, sumMs, sizes };
}
