/**
 * What an event adds to the statistics of its queue.
 *
 * @module
 */

import type { JobEvent, JobEventType, JobState } from "../protocol/mod.ts";
import { durationSize } from "./durations.ts";
import type { Resolution, StatisticsDelta } from "./statistics.ts";

/** How long spans are kept. */
export const KEPT_MS: Readonly<Record<Resolution, number>> = {
  minute: 48 * 3_600_000,
  hour: 90 * 24 * 3_600_000,
};

/** What the job was before the event. */
export interface JobBefore {
  readonly state: JobState;
  readonly updatedAt: string;
  readonly startedAt?: string;
}

/** Takes what is measured: an event that took effect, or how long something took. */
export type Note = (measure: JobEventType | "wait" | "run", durationMs: number) => void;

/** Said often, and no change of state: counting them would only make the series large. */
const NOT_COUNTED: ReadonlySet<string> = new Set(["progress", "logged", "heartbeat"]);

/**
 * Measures an event that took effect. Durations are between the instants that events carry; clocks
 * that disagree can make one negative, which counts as none.
 */
export function measureEvent(before: JobBefore | undefined, event: JobEvent, note: Note): void {
  if (NOT_COUNTED.has(event.eventType)) return;
  note(event.eventType, 0);
  if (before === undefined) return;
  // An express event tells of a start that was never published.
  const express = "startedAt" in event ? event.startedAt : undefined;
  const begunAt = event.eventType === "started" ? event.timestamp : express;
  if (before.state === "pending" && begunAt !== undefined) {
    note("wait", elapsedMs(before.updatedAt, begunAt));
  }
  const runningSince = express ?? (before.state === "active" ? before.startedAt : undefined);
  if (runningSince !== undefined && event.eventType !== "started") {
    note("run", elapsedMs(runningSince, event.timestamp));
  }
}

/** Gathers measurements into what a write adds; spans too old to be kept are left out. */
export interface StatisticsTally {
  /** Gives where measurements of a queue at an instant are noted. */
  at(queue: MeasuredQueue, storedAt: string): Note;
  /** What has been noted. */
  deltas(): StatisticsDelta[];
}

/** The queue that an event belongs to. */
export interface MeasuredQueue {
  readonly service: string;
  readonly jobType: string;
}

/** What happened in a queue in one minute, while it is being counted. */
interface Minute extends MeasuredQueue {
  readonly minute: string;
  readonly note: Note;
  readonly events: Partial<Record<JobEventType, number>>;
  readonly wait: DurationsDraft;
  readonly run: DurationsDraft;
}

interface DurationsDraft {
  count: number;
  sumMs: number;
  readonly sizes: Record<string, number>;
}

/** Makes a tally; `now` says which spans are old. */
export function createTally(now: number): StatisticsTally {
  const minutes = new Map<string, Minute>();
  return {
    at(queue, storedAt) {
      // The text of an instant up to its minutes is the minute.
      const minute = storedAt.slice(0, 16);
      const name = `${queue.service} ${queue.jobType} ${minute}`;
      const counted = minutes.get(name) ?? emptyMinute(queue, minute);
      minutes.set(name, counted);
      return counted.note;
    },
    deltas: () =>
      [...minutes.values()].flatMap(deltasOf).filter(({ resolution, at }) =>
        Date.parse(at) >= now - KEPT_MS[resolution]
      ),
  };
}

function emptyMinute({ service, jobType }: MeasuredQueue, minute: string): Minute {
  const events: Partial<Record<JobEventType, number>> = {};
  const durations = { wait: newDurations(), run: newDurations() };
  return {
    service,
    jobType,
    minute,
    events,
    ...durations,
    note(measure, durationMs) {
      if (measure === "wait" || measure === "run") addDuration(durations[measure], durationMs);
      else events[measure] = (events[measure] ?? 0) + 1;
    },
  };
}

function newDurations(): DurationsDraft {
  return { count: 0, sumMs: 0, sizes: {} };
}

function addDuration(durations: DurationsDraft, durationMs: number): void {
  const size = durationSize(durationMs);
  durations.count++;
  durations.sumMs += durationMs;
  durations.sizes[size] = (durations.sizes[size] ?? 0) + 1;
}

function deltasOf(
  { service, jobType: type, minute, events, wait, run }: Minute,
): StatisticsDelta[] {
  const added = { service, type, events, wait, run };
  return [
    { resolution: "minute", at: `${minute}:00.000Z`, ...added },
    { resolution: "hour", at: `${minute.slice(0, 13)}:00:00.000Z`, ...added },
  ];
}

function elapsedMs(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
