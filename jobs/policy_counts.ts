/**
 * Counts of what a queue's policy did: refusals and mergers leave no event, so they are told here.
 *
 * @module
 */

import type { PolicyCounters } from "../protocol/mod.ts";

/** What a policy can do with a submission that finds its key full. */
export type PolicyOutcome = keyof PolicyCounters;

/** The counts of one queue in one process. */
export interface PolicyCounts {
  /** Counts one. */
  count(outcome: PolicyOutcome, reason: string): void;
  /** All of them so far. */
  counters(): PolicyCounters;
}

/**
 * Begins to count.
 *
 * @example
 * ```ts
 * import { createPolicyCounts } from "./policy_counts.ts";
 * import assert from "node:assert/strict";
 *
 * const counts = createPolicyCounts();
 * counts.count("rejected", "queue-depth");
 * counts.count("rejected", "queue-depth");
 * assert.deepEqual(counts.counters(), { rejected: { "queue-depth": 2 } });
 * ```
 */
export function createPolicyCounts(): PolicyCounts {
  const counted: Partial<Record<PolicyOutcome, Record<string, number>>> = {};
  return {
    count(outcome, reason) {
      const reasons = counted[outcome] ??= {};
      reasons[reason] = (reasons[reason] ?? 0) + 1;
    },
    counters: () => structuredClone(counted),
  };
}
