/**
 * How long finished jobs are kept: one policy for rows and stream.
 *
 * @module
 */

import { TERMINAL_STATES, type TerminalState } from "../protocol/mod.ts";
import type { EndedBefore } from "./store.ts";

/** For each terminal state how long its jobs are kept after their end; `false` is for ever. */
export type RetentionPolicy = Readonly<Record<TerminalState, number | false>>;

const DAY_MS = 24 * 3_600_000;

/** What holds unless it is said otherwise: failed jobs wait longer to be looked at, dead ones longest. */
export const DEFAULT_RETENTION: RetentionPolicy = {
  completed: 7 * DAY_MS,
  failed: 30 * DAY_MS,
  cancelled: 7 * DAY_MS,
  expired: 7 * DAY_MS,
  skipped: 7 * DAY_MS,
  stale: 7 * DAY_MS,
  dead: 90 * DAY_MS,
  dismissed: 7 * DAY_MS,
};

/**
 * Fills a policy up with the defaults; throws `RangeError` for an age that cannot be.
 *
 * @example
 * ```ts
 * import { resolveRetention } from "./retention.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(resolveRetention({ dead: false }).dead, false);
 * assert.throws(() => resolveRetention({ failed: -1 }), /Cannot keep failed jobs for -1 ms/);
 * ```
 */
export function resolveRetention(options: Partial<RetentionPolicy> = {}): RetentionPolicy {
  const policy = { ...DEFAULT_RETENTION, ...options };
  for (const state of TERMINAL_STATES) {
    const age = policy[state];
    if (age === false || (Number.isFinite(age) && age >= 0)) continue;
    throw new RangeError(
      `Cannot keep ${state} jobs for ${age} ms: give milliseconds from 0 on, or false for ever`,
    );
  }
  return policy;
}

/**
 * Tells which finished jobs may go now: for each state, those that ended at or before an instant.
 *
 * @example
 * ```ts
 * import { endedBefore, resolveRetention } from "./retention.ts";
 * import assert from "node:assert/strict";
 *
 * const policy = resolveRetention({ dead: false });
 * const before = endedBefore(policy, Date.parse("2026-01-08T00:00:00.000Z"));
 * assert.equal(before.completed, "2026-01-01T00:00:00.000Z");
 * assert.equal("dead" in before, false);
 * ```
 */
export function endedBefore(policy: RetentionPolicy, now: number): EndedBefore {
  const before: Partial<Record<TerminalState, string>> = {};
  for (const state of TERMINAL_STATES) {
    const age = policy[state];
    if (age !== false) before[state] = new Date(Math.max(0, now - age)).toISOString();
  }
  return before;
}
