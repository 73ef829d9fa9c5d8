/**
 * The eleven states of a job.
 *
 * @module
 */

/** Every state, in the order a life runs through them. */
export const JOB_STATES = [
  "pending",
  "active",
  "retry",
  "completed",
  "failed",
  "cancelled",
  "expired",
  "skipped",
  "stale",
  "dead",
  "dismissed",
] as const;

/** Where a job stands. */
export type JobState = typeof JOB_STATES[number];

/** States from which no worker will run the job again by itself. */
export const TERMINAL_STATES = [
  "completed",
  "failed",
  "cancelled",
  "expired",
  "skipped",
  "stale",
  "dead",
  "dismissed",
] as const satisfies readonly JobState[];

/** A state in which the job's life has ended; only `retried` and `dismissed` lead out of some. */
export type TerminalState = typeof TERMINAL_STATES[number];

const terminal: ReadonlySet<JobState> = new Set<JobState>(TERMINAL_STATES);

/**
 * Tells whether a job in this state has ended.
 *
 * @example
 * ```ts
 * import { isTerminal } from "./states.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isTerminal("dead"), true);
 * assert.equal(isTerminal("retry"), false);
 * ```
 */
export function isTerminal(state: JobState): state is TerminalState {
  return terminal.has(state);
}
