/** Events and a feeder for the conformance suite: lives of jobs, written as short as they are read. */

import type { JobEvent, JobEventType } from "../protocol/mod.ts";
import type { StoredEvent } from "./fold_batch.ts";
import { projectBatch } from "./project_batch.ts";
import type { ProjectionStore } from "./store.ts";

/** The instant at which the suite's first event is stored; each further event is a second later. */
export const BEGIN_MS: number = Date.parse("2026-01-01T00:00:00.000Z");

/** The stream that the suite's events come from. */
export const STREAM = "2026-01-01T00:00:00Z";

/** A job's identity. */
export interface Subject {
  readonly service: string;
  readonly jobType: string;
  readonly jobId: string;
}

/** Makes a job's identity from a number. */
export function subject(number: number, service = "billing", jobType = "charge"): Subject {
  return { service, jobType, jobId: `01JZ6N5V4T8Y3K2QX9${String(number).padStart(8, "0")}` };
}

const STATES: Readonly<Record<JobEventType, string>> = {
  created: "pending",
  started: "active",
  retry: "retry",
  progress: "active",
  logged: "active",
  heartbeat: "active",
  completed: "completed",
  failed: "failed",
  dead: "dead",
  cancelled: "cancelled",
  expired: "expired",
  dismissed: "dismissed",
  skipped: "skipped",
  stale: "stale",
  staleCompletionIgnored: "active",
  retried: "pending",
};

/** What an event carries when the caller does not say. */
const FIELDS: Readonly<Partial<Record<JobEventType, object>>> = {
  created: { payload: { cents: 1200 }, maxTries: 5 },
  started: { instanceId: "i1" },
  retry: { error: "it broke" },
  failed: { error: "it broke" },
  dead: { error: "it broke" },
  completed: { result: { ok: true } },
  logged: { logs: [] },
  progress: { progress: { step: "half" } },
  retried: { payload: { cents: 1200 }, maxTries: 5 },
};

/** Feeds events into a store as the projector does, and remembers them. */
export interface Feeder {
  /** Everything fed so far. */
  readonly events: readonly StoredEvent[];
  /** Adds an event to the next batch. */
  add(job: Subject, eventType: JobEventType, fields?: object): void;
  /** Writes the batch. */
  feed(): Promise<void>;
}

/**
 * Makes a feeder for an empty store. Streams have gaps: `stride` is from one place to the next, and
 * a wide one spreads few events over a long stream.
 */
export function createFeeder(store: ProjectionStore, stride = 1): Feeder {
  const events: StoredEvent[] = [];
  let fed = 0;
  return {
    events,
    add(job, eventType, fields = {}) {
      const number = events.length + 1;
      const storedMs = BEGIN_MS + number * 1_000;
      const event = eventOf(job, eventType, storedMs, fields);
      events.push({ sequence: number * stride, storedAt: new Date(storedMs).toISOString(), event });
    },
    async feed() {
      const { revision } = await store.position();
      const outcome = await projectBatch(store, {
        events: events.slice(fed),
        position: { stream: STREAM, sequence: events.length * stride },
        skipped: {},
      }, { revision, now: BEGIN_MS });
      if (outcome.kind !== "stored") throw new Error(`Cannot feed the store: ${outcome.kind}`);
      fed = events.length;
    },
  };
}

function eventOf(
  job: Subject,
  eventType: JobEventType,
  storedMs: number,
  fields: object,
): JobEvent {
  // The pieces make an event by construction; the compiler cannot follow a table of fields.
  return {
    ...job,
    eventType,
    state: STATES[eventType],
    ...(eventType !== "created" && { previousState: "pending" }),
    context: {
      requestId: "r-1",
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
    tries: eventType === "created" || eventType === "retried" ? 0 : 1,
    timestamp: new Date(storedMs - 5).toISOString(),
    ...FIELDS[eventType],
    ...fields,
  } as JobEvent;
}
