/**
 * Counts and durations over time: what the plots of a dashboard are drawn from.
 *
 * @module
 */

import type { JobEventType } from "../protocol/mod.ts";

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

/** What happened in one span of time. */
export interface StatisticsSpan {
  /** When the span begins. */
  readonly at: string;
  /** Events that took effect, by type. */
  readonly events: Readonly<Partial<Record<JobEventType, number>>>;
  /** From being created or retried to the first try. */
  readonly wait: Durations;
  /** From the start of a try to its end, whatever that was. */
  readonly run: Durations;
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

/** What a write adds to one cell of the series. */
export interface StatisticsDelta {
  /** How fine. */
  readonly resolution: Resolution;
  /** When the span begins. */
  readonly at: string;
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
  /** An event type, or one of the two durations. */
  readonly measure: JobEventType | "wait" | "run";
  /** The size of the durations; 0 for events. */
  readonly size: number;
  /** How many more. */
  readonly count: number;
  /** How many milliseconds more; 0 for events. */
  readonly sumMs: number;
}
