/**
 * What an event adds to the statistics of its queue.
 *
 * @module
 */

import type { JobEvent, JobState } from "../protocol/mod.ts";
import { durationSize } from "./durations.ts";
import type { Resolution, StatisticsDelta } from "./statistics.ts";

/** How long spans are kept. */
export const RESOLUTIONS: Readonly<Record<Resolution, { readonly keptMs: number }>> = {
  minute: { keptMs: 48 * 3_600_000 },
  hour: { keptMs: 90 * 24 * 3_600_000 },
};

/** What the job was before the event. */
export interface JobBefore {
  readonly state: JobState;
  readonly updatedAt: string;
  readonly startedAt?: string;
}

/** One thing that was measured. */
export interface Measurement {
  readonly measure: StatisticsDelta["measure"];
  readonly durationMs: number;
}

/** Said often, and no change of state: counting them would only make the series large. */
const NOT_COUNTED: ReadonlySet<string> = new Set(["progress", "logged", "heartbeat"]);

/**
 * Measures an event that took effect. Durations are between the instants that events carry; clocks
 * that disagree can make one negative, which counts as none.
 */
export function measureEvent(before: JobBefore | undefined, event: JobEvent): Measurement[] {
  if (NOT_COUNTED.has(event.eventType)) return [];
  const measured: Measurement[] = [{ measure: event.eventType, durationMs: 0 }];
  if (before === undefined) return measured;
  // An express event tells of a start that was never published.
  const express = "startedAt" in event ? event.startedAt : undefined;
  const begunAt = event.eventType === "started" ? event.timestamp : express;
  if (before.state === "pending" && begunAt !== undefined) {
    measured.push({ measure: "wait", durationMs: elapsedMs(before.updatedAt, begunAt) });
  }
  const runningSince = express ?? (before.state === "active" ? before.startedAt : undefined);
  if (runningSince !== undefined && event.eventType !== "started") {
    measured.push({ measure: "run", durationMs: elapsedMs(runningSince, event.timestamp) });
  }
  return measured;
}

/** Gathers measurements into what a write adds; spans too old to be kept are left out. */
export interface StatisticsTally {
  /** Notes what an event measured. */
  add(queue: MeasuredQueue, storedAt: string, seen: readonly Measurement[]): void;
  /** What has been noted. */
  deltas(): StatisticsDelta[];
}

/** The queue that an event belongs to. */
export interface MeasuredQueue {
  readonly service: string;
  readonly jobType: string;
}

/** Makes a tally; `now` says which spans are old. Hours are added up from minutes. */
export function createTally(now: number): StatisticsTally {
  const minutes = new Map<string, StatisticsDelta>();
  return {
    add({ service, jobType: type }, storedAt, seen) {
      // The text of an instant up to its minutes is the minute.
      const at = `${storedAt.slice(0, 16)}:00.000Z`;
      for (const { measure, durationMs } of seen) {
        const cell = { resolution: "minute", at, service, type, measure } as const;
        addCell(minutes, { ...cell, size: durationSize(durationMs), count: 1, sumMs: durationMs });
      }
    },
    deltas() {
      const hours = new Map<string, StatisticsDelta>();
      for (const cell of minutes.values()) {
        addCell(hours, { ...cell, resolution: "hour", at: `${cell.at.slice(0, 13)}:00:00.000Z` });
      }
      return [...minutes.values(), ...hours.values()].filter(({ resolution, at }) =>
        Date.parse(at) >= now - RESOLUTIONS[resolution].keptMs
      );
    },
  };
}

function addCell(cells: Map<string, StatisticsDelta>, cell: StatisticsDelta): void {
  const { at, service, type, measure, size, count, sumMs } = cell;
  const name = `${at} ${service} ${type} ${measure} ${size}`;
  const known = cells.get(name);
  cells.set(
    name,
    known === undefined
      ? cell
      : { ...known, count: known.count + count, sumMs: known.sumMs + sumMs },
  );
}

function elapsedMs(from: string, to: string): number {
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
