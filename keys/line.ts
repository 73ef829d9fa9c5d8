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
/**
 * When nobody claims the first, the second has at least so long before the third may go: those who
 * came at the same time would all be out of patience at once, and the line out of order.
 */
const NEXT_MS = 500;
/** However many are not claimed, nobody waits for longer than this on their account. */
const MOST_NEXT_MS = 5_000;

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
  const ends = patienceEnds(state, due);
  const claimable = ends.filter((end) => now < end);
  const unclaimed = due.filter((_, at) => now >= (ends[at] ?? 0));
  if (claimable.length >= free) return { kind: "behind", until: Math.min(...claimable) };
  if (claimable.length + unclaimed.length < free) return { kind: "now", passed: [] };
  const unknown = unclaimed.filter((job) => !fates.has(job.jobId)).map((job) => job.jobId);
  if (unknown.length > 0) return { kind: "unclaimed", jobIds: unknown };
  return { kind: "now", passed: unclaimed };
}

/** Until when each of these, in their order, has the right to a free slot before those behind it. */
function patienceEnds(state: KeyState, due: readonly QueuedJob[]): number[] {
  let last = -Infinity;
  return due.map((job) => {
    const end = patienceEnd(state, job);
    last = Math.min(Math.max(end, last + NEXT_MS), end + MOST_NEXT_MS);
    return last;
  });
}

/** Counted from when it could have run: it was there, its time had come, and a slot was free. */
function patienceEnd({ freedAt = 0 }: KeyState, { createdAt, notBefore = 0 }: QueuedJob): number {
  return Math.max(createdAt, notBefore, freedAt) + PATIENCE_MS;
}
