/**
 * Counts and durations over time: what the plots of a dashboard are drawn from.
 *
 * @module
 */

import type { JobEventType } from "../protocol/mod.ts";
import { addDurations } from "./durations.ts";

/** How fine a series is: minutes are kept for two days, hours for ninety. */
export type Resolution = "minute" | "hour";

/**
 * How long something took, over many jobs: counts by size, so that spans of time and queues can be
 * added up. A size `n` stands for durations of about `2^(n/2)` ms.
 */
export interface Durations {
  /** How many were measured. */
  readonly count: number;
  /** All of them together. */
  readonly sumMs: number;
  /** How many of each size, by size as a decimal text. */
  readonly sizes: Readonly<Record<string, number>>;
}

/** What happened in some span of time. */
export interface Happenings {
  /** Events that took effect, by type. */
  readonly events: Readonly<Partial<Record<JobEventType, number>>>;
  /** From being created or retried to the first try. */
  readonly wait: Durations;
  /** From the start of a try to its end, whatever that was. */
  readonly run: Durations;
}

/** What happened in one span of a series. */
export interface StatisticsSpan extends Happenings {
  /** When the span begins. */
  readonly at: string;
}

/** Which series. */
export interface StatisticsQuery {
  /** Of this service only. */
  readonly service?: string;
  /** Of this queue of that service only. */
  readonly type?: string;
  /** How fine. */
  readonly resolution: Resolution;
  /** Spans that begin at or after this instant. */
  readonly from: string;
  /** Spans that begin before this instant; those without events are left out. */
  readonly to: string;
}

/** What a write adds to one span of a queue's series. */
export interface StatisticsDelta extends StatisticsSpan {
  /** How fine the series is. */
  readonly resolution: Resolution;
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
}

/**
 * Adds up what happened: in several spans, or in several queues.
 *
 * @example
 * ```ts
 * import { addHappenings } from "./statistics.ts";
 * import assert from "node:assert/strict";
 *
 * const none = { count: 0, sumMs: 0, sizes: {} };
 * const one = { events: { created: 1 }, wait: none, run: none };
 * assert.deepEqual(addHappenings(one, one).events, { created: 2 });
 * ```
 */
export function addHappenings(one: Happenings, other: Happenings): Happenings {
  const events: Record<string, number> = { ...one.events };
  for (const [type, count] of Object.entries(other.events)) {
    events[type] = (events[type] ?? 0) + count;
  }
  return {
    events,
    wait: addDurations([one.wait, other.wait]),
    run: addDurations([one.run, other.run]),
  };
}
