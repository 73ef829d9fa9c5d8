/**
 * How the admin is doing, and what happened over time.
 *
 * @module
 */

import { z } from "zod";
import { JOB_EVENT_TYPES, type JobEventType } from "../../protocol/mod.ts";
import { countField, instantAnswer, instantField, nameField } from "./fields.ts";
import { type StateCounts, stateCounts } from "./queues.ts";

/** How one of the admin's loops is doing. */
export interface LoopReport {
  /** Whether it gets somewhere. */
  readonly state: string;
  /** How often it has failed. */
  readonly failures: number;
  /** What went wrong last. */
  readonly lastError?: string;
  /** When that was. */
  readonly lastErrorAt?: string;
  /** What it has done since it began, by kind. */
  readonly done?: Readonly<Record<string, number>>;
}

/** How the projection is doing. */
export interface ProjectionReport {
  /** `live` when it has caught up; `shared` when another process writes it. */
  readonly state: string;
  /** Everything up to this place of the stream is in the lists. */
  readonly sequence: number;
  /** Messages still to be read, where that is known. */
  readonly lag?: number;
  /** Messages that were no events, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** A rebuild under way. */
  readonly rebuild?: { readonly reason: string; readonly to: number };
  /** What went wrong last. */
  readonly lastError?: string;
}

/** How the admin is doing. */
export interface HealthResponse {
  /** `ok`, or `degraded` when `problems` has something to say. */
  readonly status: "ok" | "degraded";
  /** What is wrong, each in a sentence. */
  readonly problems: readonly string[];
  /** This process. */
  readonly instanceId: string;
  /** Whether it does the owner's work, waits for it, or never will. */
  readonly role: "owner" | "standby" | "rpc-only";
  /** When it began. */
  readonly startedAt: string;
  /** The server that it is connected to. */
  readonly server: { readonly connected: boolean; readonly version?: string };
  /** The lists. */
  readonly projection: ProjectionReport;
  /** Its loops, by name. */
  readonly loops: Readonly<Record<string, LoopReport>>;
}

/** Which figures. */
export interface StatsRequest {
  /** Of this service only. */
  readonly service?: string;
  /** Of this queue of that service only. */
  readonly type?: string;
  /** How fine; `minute` when left out. */
  readonly resolution?: "minute" | "hour";
  /** From this instant on; an hour before `to` (a week for hours) when left out. */
  readonly from?: string;
  /** Before this instant; now when left out. */
  readonly to?: string;
}

/** How long something took. */
export interface DurationStats {
  /** How many were measured. */
  readonly count: number;
  /** On average. */
  readonly meanMs?: number;
  /** Half of them took less; right within a fifth, like the others. */
  readonly p50Ms?: number;
  /** 95 of 100 took less. */
  readonly p95Ms?: number;
  /** 99 of 100 took less. */
  readonly p99Ms?: number;
}

/** What happened in a span of time. */
export interface SpanStats {
  /** Events by type. */
  readonly events: Readonly<Partial<Record<JobEventType, number>>>;
  /** From being created or retried to the first try. */
  readonly wait: DurationStats;
  /** From the start of a try to its end. */
  readonly run: DurationStats;
}

/** Figures. */
export interface StatsResponse {
  /** Jobs by state, now. */
  readonly counts: StateCounts;
  /** The same, queue by queue. */
  readonly queues: readonly {
    readonly service: string;
    readonly type: string;
    readonly counts: StateCounts;
    readonly oldestPendingAt?: string;
  }[];
  /** Since when the oldest job waits for its first try. */
  readonly oldestPendingAt?: string;
  /** The span of time that was asked for. */
  readonly from: string;
  /** Its end. */
  readonly to: string;
  /** All of it together. */
  readonly total: SpanStats;
  /** Spans with events, oldest first. */
  readonly spans: readonly (SpanStats & { readonly at: string })[];
}

const loop = z.object({
  state: z.string(),
  failures: countField,
  lastError: z.string().exactOptional(),
  lastErrorAt: instantAnswer.exactOptional(),
  done: z.record(z.string(), z.number()).exactOptional(),
}).meta({ id: "LoopReport" });
/** The schema of a request that says nothing. */
export const emptyRequest: z.ZodType<Record<string, never>> = z.strictObject({});
/** The schema of {@linkcode HealthResponse}. */
export const healthResponse: z.ZodType<HealthResponse> = z.object({
  status: z.enum(["ok", "degraded"]),
  problems: z.array(z.string()),
  instanceId: z.string(),
  role: z.enum(["owner", "standby", "rpc-only"]),
  startedAt: instantAnswer,
  server: z.object({ connected: z.boolean(), version: z.string().exactOptional() }),
  projection: z.object({
    state: z.string(),
    sequence: countField,
    lag: countField.exactOptional(),
    skipped: z.record(z.string(), countField),
    rebuild: z.object({ reason: z.string(), to: countField }).exactOptional(),
    lastError: z.string().exactOptional(),
  }),
  loops: z.record(z.string(), loop),
});
/** The schema of {@linkcode StatsRequest}. */
export const statsRequest: z.ZodType<StatsRequest> = z.strictObject({
  service: nameField("service").exactOptional(),
  type: nameField("job type").exactOptional(),
  resolution: z.enum(["minute", "hour"]).exactOptional(),
  from: instantField.exactOptional(),
  to: instantField.exactOptional(),
});
const duration = z.object({
  count: countField,
  meanMs: z.number().exactOptional(),
  p50Ms: z.number().exactOptional(),
  p95Ms: z.number().exactOptional(),
  p99Ms: z.number().exactOptional(),
}).meta({ id: "DurationStats" });
const spanFields = {
  // The table of transitions names every event type, and has at least one.
  events: z.partialRecord(z.enum(JOB_EVENT_TYPES as [JobEventType, ...JobEventType[]]), countField),
  wait: duration,
  run: duration,
};
const queueCounts = {
  counts: stateCounts,
  oldestPendingAt: instantAnswer.exactOptional(),
};
/** The schema of {@linkcode StatsResponse}. */
export const statsResponse: z.ZodType<StatsResponse> = z.object({
  ...queueCounts,
  queues: z.array(z.object({ service: z.string(), type: z.string(), ...queueCounts })),
  from: instantAnswer,
  to: instantAnswer,
  total: z.object(spanFields),
  spans: z.array(z.object({ at: instantAnswer, ...spanFields })),
});
