/**
 * May this work run now? Decided from what the history says, nothing else.
 *
 * @module
 */

import { isTerminal, type JobSnapshot, type JobState } from "../protocol/mod.ts";
import type { WorkItem } from "./work_item.ts";

/** What is to be done with delivered work. */
export type Admission =
  /** Run it: these are the try's number, the state it was found in, and what the start expects. */
  | {
    readonly kind: "run";
    readonly tries: number;
    readonly previousState: JobState;
    readonly lastSequence: number;
  }
  /** It has ended already, or this delivery belongs to an earlier life: nothing is left to do. */
  | { readonly kind: "over"; readonly why: string }
  /** Its deadline has passed. */
  | {
    readonly kind: "expire";
    readonly tries: number;
    readonly previousState: JobState;
    readonly lastSequence: number;
  }
  /** Every try began and none reported an end. */
  | {
    readonly kind: "exhausted";
    readonly tries: number;
    readonly previousState: JobState;
    readonly lastSequence: number;
    readonly error: string;
  };

/** Admits work whose history nobody has touched since it was made: a first delivery. */
export function admitFresh(item: WorkItem, sourceSequence: number, now: number): Admission {
  const found = { tries: 0, previousState: "pending", lastSequence: sourceSequence } as const;
  return isPast(item.deadline, now)
    ? { kind: "expire", ...found }
    : { kind: "run", ...found, tries: 1 };
}

/** Admits work by the job's folded history. */
export function admit(item: WorkItem, snapshot: JobSnapshot | undefined, now: number): Admission {
  if (snapshot === undefined) return { kind: "over", why: "its history is gone" };
  const { job, lastSequence, lifeSequence } = snapshot;
  if (item.sourceSequence !== undefined && item.sourceSequence < lifeSequence) {
    return { kind: "over", why: "it was put back to work after this delivery was made" };
  }
  if (isTerminal(job.state)) return { kind: "over", why: `it is ${job.state}` };
  const found = { tries: job.tries, previousState: job.state, lastSequence };
  if (isPast(job.deadline, now)) return { kind: "expire", ...found };
  if (job.tries >= job.maxTries) {
    const error = job.state === "retry" && job.lastError !== undefined
      ? job.lastError
      : `the worker ended without a word on try ${job.tries} of ${job.maxTries}`;
    return { kind: "exhausted", ...found, error };
  }
  return { kind: "run", ...found, tries: job.tries + 1 };
}

/** Tells whether a deadline has passed. */
export function isPast(deadline: string | undefined, now: number): boolean {
  return deadline !== undefined && Date.parse(deadline) <= now;
}
