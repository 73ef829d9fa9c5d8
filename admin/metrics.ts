/**
 * Figures in the text form that Prometheus reads.
 *
 * @module
 */

import { addDurations } from "../projection/durations.ts";
import { isLive } from "../projection/presence_row.ts";
import type { Durations, StatisticsSpan } from "../projection/mod.ts";
import type { QueueAddress } from "../protocol/mod.ts";
import type { AdminPorts } from "./ports.ts";

/** One number of a metric. */
export interface Sample {
  /** Labels by name. */
  readonly labels: Readonly<Record<string, string>>;
  /** The number. */
  readonly value: number;
  /** What follows the metric's name: `_sum`, `_count`, or nothing. */
  readonly suffix?: string;
}

/** A metric with its numbers. */
export interface Metric {
  /** Its name. */
  readonly name: string;
  /** What it says. */
  readonly help: string;
  /** Its kind; what is of the last five minutes is a gauge, since the projection may be rebuilt. */
  readonly kind: "gauge" | "summary";
  /** The numbers. */
  readonly samples: readonly Sample[];
}

const WINDOW_MS = 5 * 60_000;

/** Reads all figures as text. */
export async function readMetrics(ports: AdminPorts): Promise<string> {
  return writeMetrics(await collectMetrics(ports));
}

/**
 * Writes metrics as text.
 *
 * @example
 * ```ts
 * import { writeMetrics } from "./metrics.ts";
 * import assert from "node:assert/strict";
 *
 * const samples = [{ labels: { type: 'a"b' }, value: 2 }];
 * const text = writeMetrics([{ name: "jobs", help: "Jobs", kind: "gauge", samples }]);
 * assert.equal(text, '# HELP jobs Jobs\n# TYPE jobs gauge\njobs{type="a\\"b"} 2\n');
 * ```
 */
export function writeMetrics(metrics: readonly Metric[]): string {
  return metrics.map(({ name, help, kind, samples }) => {
    const lines = samples.map(({ labels, value, suffix = "" }) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escape(text)}"`);
      return `${name}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
    });
    return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
  }).join("");
}

/** Reads all figures. */
export async function collectMetrics(ports: AdminPorts): Promise<Metric[]> {
  const { store, clock } = ports;
  const now = clock();
  const [counts, oldest, workers, health] = await Promise.all([
    store.countQueues(),
    store.oldestPending(),
    store.listWorkers({}),
    ports.health(),
  ]);
  const queues = new Map(
    counts.map(({ service, type }) => [`${service}.${type}`, { service, jobType: type }]),
  );
  const recent = await Promise.all(
    [...queues.values()].map((queue) => recentOf(ports, queue, now)),
  );
  const live = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const worker of workers) {
    const { service, jobType: type } = worker.heartbeat;
    const sample = live.get(`${service}.${type}`) ?? { labels: { service, type }, value: 0 };
    if (isLive(worker, now)) sample.value++;
    live.set(`${service}.${type}`, sample);
  }
  return [
    gauge(
      "trellis_jobs",
      "Jobs by queue and state",
      counts.map(({ count, ...labels }) => ({
        labels,
        value: count,
      })),
    ),
    gauge(
      "trellis_jobs_oldest_pending_seconds",
      "How long the oldest job has waited for its first try",
      oldest.map(({ service, type, pendingSince }) => ({
        labels: { service, type },
        value: Math.max(0, now - Date.parse(pendingSince)) / 1_000,
      })),
    ),
    gauge("trellis_jobs_workers_live", "Workers heard within 90 s", [...live.values()]),
    gauge(
      "trellis_jobs_events_5m",
      "Events of the last five minutes: outcomes, retries, stale takeovers",
      recent.flatMap(({ labels, spans }) => eventSamples(labels, spans)),
    ),
    {
      name: "trellis_jobs_wait_5m_seconds",
      help: "From being created or retried to the first try, over the last five minutes",
      kind: "summary",
      samples: recent.flatMap(({ labels, spans }) => durationSamples(labels, spans, "wait")),
    },
    {
      name: "trellis_jobs_run_5m_seconds",
      help: "From the start of a try to its end, over the last five minutes",
      kind: "summary",
      samples: recent.flatMap(({ labels, spans }) => durationSamples(labels, spans, "run")),
    },
    gauge("trellis_jobs_projection_lag", "Events that are stored and not yet in the lists", [
      { labels: {}, value: health.projection.lag ?? 0 },
    ]),
    gauge("trellis_jobs_projection_sequence", "Place in the stream that the lists have reached", [
      { labels: {}, value: health.projection.sequence },
    ]),
    gauge("trellis_jobs_owner", "Whether this process does the owner's work", [
      { labels: { instance_id: health.instanceId }, value: health.role === "owner" ? 1 : 0 },
    ]),
    gauge(
      "trellis_jobs_loop_up",
      "Whether a loop of this process gets somewhere",
      Object.entries(health.loops).map(([loop, { state }]) => ({
        labels: { loop },
        value: state === "failing" ? 0 : 1,
      })),
    ),
    gauge("trellis_jobs_work", "Work at the server by queue", await workSamples(ports, queues)),
  ];
}

async function workSamples(
  { queues: port }: AdminPorts,
  queues: ReadonlyMap<string, QueueAddress>,
): Promise<Sample[]> {
  const samples = await Promise.all([...queues.values()].map(async (queue): Promise<Sample[]> => {
    const work = await port.work(queue).catch(() => undefined);
    if (work === undefined) return [];
    const labels = { service: queue.service, type: queue.jobType };
    return (["waiting", "outstanding", "redelivered"] as const).map((kind) => ({
      labels: { ...labels, kind },
      value: work[kind],
    }));
  }));
  return samples.flat();
}

async function recentOf(
  { store }: AdminPorts,
  { service, jobType: type }: QueueAddress,
  now: number,
): Promise<{ labels: Record<string, string>; spans: readonly StatisticsSpan[] }> {
  const from = new Date(now - WINDOW_MS).toISOString();
  const to = new Date(now).toISOString();
  const labels = { service, type };
  return {
    labels,
    spans: await store.readStatistics({ ...labels, resolution: "minute", from, to }),
  };
}

function eventSamples(
  labels: Record<string, string>,
  spans: readonly StatisticsSpan[],
): Sample[] {
  const sums: Record<string, number> = {};
  for (const { events } of spans) {
    for (const [event, count] of Object.entries(events)) sums[event] = (sums[event] ?? 0) + count;
  }
  return Object.entries(sums).map(([event, value]) => ({ labels: { ...labels, event }, value }));
}

function durationSamples(
  labels: Record<string, string>,
  spans: readonly StatisticsSpan[],
  which: "wait" | "run",
): Sample[] {
  const { count, sumMs }: Durations = addDurations(spans.map((span) => span[which]));
  return [
    { labels, suffix: "_sum", value: sumMs / 1_000 },
    { labels, suffix: "_count", value: count },
  ];
}

function gauge(name: string, help: string, samples: readonly Sample[]): Metric {
  return { name, help, kind: "gauge", samples };
}

function escape(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
