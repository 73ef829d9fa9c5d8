/** Whether a job that was read piece by piece from replicas of different age is whole. */

import {
  foldLatest,
  type JobEventType,
  type JobSnapshot,
  type SequencedEvent,
} from "../protocol/mod.ts";

/** Events that are written whatever came before: they say nothing of what they follow. */
const UNGUARDED: readonly JobEventType[] = ["progress", "logged", "staleCompletionIgnored"];

/** Tells whether an event is stored only as the next after those that its writer knew. */
export function isGuarded(eventType: JobEventType): boolean {
  return !UNGUARDED.includes(eventType);
}

/**
 * Folds what was read, and tells whether the job is surely in the state that the fold says.
 *
 * A guarded event was stored only because nothing had come in between, so it knows the job's state:
 * a fold that comes to another has not seen all that came before.
 */
export function foldProven(
  last: SequencedEvent | undefined,
  read: readonly SequencedEvent[],
): { readonly snapshot: JobSnapshot | undefined; readonly proven: boolean } {
  const snapshot = foldLatest(read);
  if (snapshot === undefined || last === undefined) return { snapshot, proven: false };
  const { job, lastSequence } = snapshot;
  // The job went on in the meantime: a write that expects the older event will lose and read again.
  if (lastSequence > last.sequence) return { snapshot, proven: true };
  const whole = lastSequence === last.sequence && isGuarded(last.event.eventType) &&
    job.state === last.event.state;
  return { snapshot, proven: whole };
}

/** Of two readings of the same kinds, the newer event of each. */
export function newestOfEach(events: readonly SequencedEvent[]): SequencedEvent[] {
  const newest = new Map<JobEventType, SequencedEvent>();
  for (const read of events) {
    const known = newest.get(read.event.eventType);
    if (known === undefined || known.sequence < read.sequence) {
      newest.set(read.event.eventType, read);
    }
  }
  return [...newest.values()];
}
