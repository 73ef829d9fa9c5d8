/**
 * A job from the newest event of each kind: what a service can read by subject alone.
 *
 * @module
 */

import type { JobEvent, JobEventType } from "./events.ts";
import type { Job } from "./job.ts";
import { reduce } from "./reduce.ts";
import { isTerminal } from "./states.ts";
import { transition } from "./transitions.ts";

/** An event and its place in the stream. */
export interface SequencedEvent {
  /** Place in the stream. */
  readonly sequence: number;
  /** The event. */
  readonly event: JobEvent;
}

/** A job and the places in the stream that matter to writers. */
export interface JobSnapshot {
  /** The job; its logs are those of the last `logged` event only. */
  readonly job: Job;
  /** Place of its newest event: what the next compare-and-set write expects. */
  readonly lastSequence: number;
  /** Place of the event that began its present life: `created`, or the last `retried`. */
  readonly lifeSequence: number;
}

/**
 * Folds the newest event of each kind. Events that one of them implies (a `retry` implies a start)
 * are taken as having happened, because only the newest start is there.
 *
 * @example
 * ```ts
 * import { foldLatest } from "./fold_latest.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(foldLatest([]), undefined);
 * ```
 */
export function foldLatest(events: readonly SequencedEvent[]): JobSnapshot | undefined {
  const ordered = [...events].sort((a, b) => a.sequence - b.sequence);
  const created = ordered.find(({ event }) => event.eventType === "created");
  const begun = created && reduce(undefined, created.event);
  if (created === undefined || begun === undefined) return undefined;
  const retried = effectiveRetry(ordered);
  const life = retried ?? created;
  let job = retried === undefined ? begun : again(begun, retried.event);
  for (const { sequence, event } of ordered) {
    if (sequence > life.sequence) job = applyImplied(job, event);
  }
  const lastSequence = ordered.at(-1)?.sequence ?? life.sequence;
  return { job, lastSequence, lifeSequence: life.sequence };
}

/** What a life leaves behind besides its end from outside. */
const LIVED: readonly JobEventType[] = ["started", "retry", "completed", "failed", "dead"];

/**
 * The newest `retried`, unless it came too late: an old server can store it right after a
 * `dismissed`, which nothing leaves. Signs of life between the two tell that it was the `dismissed`
 * that came too late.
 */
function effectiveRetry(ordered: readonly SequencedEvent[]): SequencedEvent | undefined {
  const retried = ordered.findLast(({ event }) => event.eventType === "retried");
  const dismissed = ordered.findLast(({ event }) => event.eventType === "dismissed");
  if (retried === undefined || dismissed === undefined) return retried;
  if (dismissed.sequence > retried.sequence) return retried;
  const lived = ordered.some(({ sequence, event }) =>
    sequence > dismissed.sequence && sequence < retried.sequence && LIVED.includes(event.eventType)
  );
  return lived ? retried : undefined;
}

/** Whatever ended the life before, `retried` was legal when it was stored. */
function again(job: Job, retried: JobEvent): Job {
  return reduce({ ...job, state: "dead" }, retried) ?? job;
}

function applyImplied(job: Job, event: JobEvent): Job {
  const legal = transition(job.state, event) !== undefined;
  const implied = !legal && !isTerminal(job.state) ? { ...job, state: "active" as const } : job;
  const after = reduce(implied, event) ?? job;
  // An event that even a running job does not take changes nothing, the implied start included.
  return after === implied ? job : after;
}
