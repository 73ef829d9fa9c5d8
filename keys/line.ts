/**
 * Whose turn is it? First in, first out among the jobs whose time has come and whom somebody claims.
 *
 * @module
 */

import type { JobFates } from "./fate.ts";
import type { KeyState, QueuedJob } from "./key_state.ts";

/**
 * How long a free slot waits for the first in line. Its worker is woken within milliseconds; if it is
 * gone, or too busy to pull the job, the others go on without it.
 */
export const PATIENCE_MS = 2_000;

/** Whether a job may take a slot. */
export type Turn =
  /** Yes; these, before it in line, are passed. */
  | { readonly kind: "now"; readonly passed: readonly QueuedJob[] }
  /** Every slot is taken. */
  | { readonly kind: "busy" }
  /** Somebody before it has the right to the free slots until this instant. */
  | { readonly kind: "behind"; readonly until: number }
  /** Nobody claims these, before it in line: look whether they still exist, then pass them. */
  | { readonly kind: "unclaimed"; readonly jobIds: readonly string[] };

/** Tells whether it is the turn of a job that stands in line. */
export function turnOf(
  state: KeyState,
  jobId: string,
  fates: JobFates,
  now: number,
): Turn {
  const free = state.maxActive - state.active.length;
  if (free <= 0) return { kind: "busy" };
  const before = state.queued.slice(0, state.queued.findIndex((job) => job.jobId === jobId));
  const due = before.filter((job) => job.passed !== true && (job.notBefore ?? 0) <= now);
  const claimable = due.filter((job) => now < patienceEnd(state, job));
  const unclaimed = due.filter((job) => now >= patienceEnd(state, job));
  if (claimable.length >= free) {
    return { kind: "behind", until: Math.min(...claimable.map((job) => patienceEnd(state, job))) };
  }
  if (claimable.length + unclaimed.length < free) return { kind: "now", passed: [] };
  const unknown = unclaimed.filter((job) => !fates.has(job.jobId)).map((job) => job.jobId);
  if (unknown.length > 0) return { kind: "unclaimed", jobIds: unknown };
  return { kind: "now", passed: unclaimed };
}

/** Counted from when it could have run: it was there, its time had come, and a slot was free. */
function patienceEnd({ freedAt = 0 }: KeyState, { createdAt, notBefore = 0 }: QueuedJob): number {
  return Math.max(createdAt, notBefore, freedAt) + PATIENCE_MS;
}
