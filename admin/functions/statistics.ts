/**
 * Figures over time.
 *
 * @module
 */

import { addDurations, durationQuantileMs } from "../../projection/durations.ts";
import type { Durations, QueueCount, StatisticsSpan } from "../../projection/mod.ts";
import { err, type JobEventType, ok, type Result } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type { DurationStats, SpanStats, StatsRequest, StatsResponse } from "../messages/health.ts";
import type { CallContext } from "../procedure.ts";
import { countsOf } from "./queues.ts";

const HOUR_MS = 3_600_000;
const DEFAULT_SPAN_MS = { minute: HOUR_MS, hour: 7 * 24 * HOUR_MS } as const;

/** Gives counts as they are now, and what happened over a span of time. */
export async function readStats(
  { service, type, resolution = "minute", from, to }: StatsRequest,
  { ports: { store, clock } }: CallContext,
): Promise<Result<StatsResponse, AdminError>> {
  if (type !== undefined && service === undefined) {
    const message = `Cannot read statistics of queue ${type}: say of which service`;
    return err(new AdminError("validation", message, { field: "service" }));
  }
  const end = to === undefined ? clock() : Date.parse(to);
  const begin = from === undefined ? end - DEFAULT_SPAN_MS[resolution] : Date.parse(from);
  if (begin >= end) {
    const message = `Cannot read statistics: from ${text(begin)} is not before ${text(end)}`;
    return err(new AdminError("validation", message, { field: "from" }));
  }
  const queue = {
    ...(service !== undefined && { service }),
    ...(type !== undefined && { type }),
  };
  const span = { from: text(begin), to: text(end) };
  const isAsked = (other: { readonly service: string; readonly type: string }) =>
    (service ?? other.service) === other.service && (type ?? other.type) === other.type;
  const counts = (await store.countQueues()).filter(isAsked);
  const oldest = (await store.oldestPending()).filter(isAsked);
  const spans = await store.readStatistics({ ...queue, ...span, resolution });
  const oldestPendingAt = oldest.map(({ pendingSince }) => pendingSince).sort()[0];
  return ok({
    counts: countsOf(counts),
    queues: byQueue(counts, oldest),
    ...(oldestPendingAt !== undefined && { oldestPendingAt }),
    ...span,
    total: describeSpans(spans),
    spans: spans.map((each) => ({ at: each.at, ...describeSpans([each]) })),
  });
}

/** Adds spans up and tells what they say. */
export function describeSpans(spans: readonly StatisticsSpan[]): SpanStats {
  const events: Partial<Record<JobEventType, number>> = {};
  for (const span of spans) {
    // The keys of a record are widened to string; they are the event types that it was made with.
    for (const [eventType, count] of Object.entries(span.events) as [JobEventType, number][]) {
      events[eventType] = (events[eventType] ?? 0) + count;
    }
  }
  return {
    events,
    wait: describeDurations(addDurations(spans.map(({ wait }) => wait))),
    run: describeDurations(addDurations(spans.map(({ run }) => run))),
  };
}

function describeDurations(durations: Durations): DurationStats {
  const { count, sumMs } = durations;
  if (count === 0) return { count };
  const quantile = (share: number) => Math.round(durationQuantileMs(durations, share) ?? 0);
  return {
    count,
    meanMs: Math.round(sumMs / count),
    p50Ms: quantile(0.5),
    p95Ms: quantile(0.95),
    p99Ms: quantile(0.99),
  };
}

function byQueue(
  counts: readonly QueueCount[],
  oldest: readonly { service: string; type: string; pendingSince: string }[],
): StatsResponse["queues"] {
  const queues = new Map<string, QueueCount[]>();
  for (const count of counts) {
    const name = `${count.service}.${count.type}`;
    queues.set(name, [...queues.get(name) ?? [], count]);
  }
  return [...queues.values()].flatMap((of) => {
    const [first] = of;
    if (first === undefined) return [];
    const { service, type } = first;
    const waits = oldest.find((other) => other.service === service && other.type === type);
    const since = waits === undefined ? {} : { oldestPendingAt: waits.pendingSince };
    return [{ service, type, counts: countsOf(of), ...since }];
  });
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
