/**
 * Schemas of the events: what a stored message must look like to be believed.
 *
 * Unknown fields are dropped, not refused: a newer peer may send more.
 *
 * @module
 */

import { z } from "zod";
import { countSchema, instantSchema, jobIdSchema, nameSchema } from "./_fields.ts";
import type { JobEvent, JobEventOf, JobEventType } from "./events.ts";
import { isHeaderText } from "./names.ts";
import { JOB_STATES, type JobState } from "./states.ts";
import { TRANSITIONS } from "./transitions.ts";

const jobState = z.enum(JOB_STATES);

/** Any JSON value; `undefined` is none, so the field must be there. */
const json = z.custom<unknown>((value) => value !== undefined, "missing");

const headerText = z.string().refine(isHeaderText, "not a text that fits a header");

const contextSchema = z.object({
  requestId: headerText,
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  traceparent: z.string().regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/),
  tracestate: headerText.exactOptional(),
});

const progressSchema = z.object({
  step: z.string().exactOptional(),
  message: z.string().exactOptional(),
  current: z.number().exactOptional(),
  total: z.number().exactOptional(),
});

const logEntrySchema = z.object({
  timestamp: instantSchema,
  level: z.enum(["info", "warn", "error"]),
  message: z.string(),
});

const concurrencySchema = z.object({
  key: z.string(),
  keyHash: z.string().regex(/^[0-9a-f]{64}$/),
  slotToken: z.string().exactOptional(),
  instanceId: nameSchema("instance id").exactOptional(),
  heartbeatAt: instantSchema.exactOptional(),
  leaseExpiresAt: instantSchema.exactOptional(),
  staleTakeoverCount: countSchema.exactOptional(),
});

const queuePolicySchema = z.object({
  outcome: z.enum(["accepted", "rejected", "coalesced", "replaced"]).exactOptional(),
  reason: z.string().exactOptional(),
  existingJobId: jobIdSchema.exactOptional(),
  replacedJobId: jobIdSchema.exactOptional(),
});

function base<Type extends JobEventType, State extends JobState>(
  eventType: Type,
  state: z.ZodType<State>,
) {
  return {
    jobId: jobIdSchema,
    service: nameSchema("service"),
    jobType: nameSchema("job type"),
    eventType: z.literal(eventType),
    state,
    context: contextSchema,
    tries: countSchema,
    timestamp: instantSchema,
  };
}

function after<Type extends JobEventType, State extends JobState>(eventType: Type, state: State) {
  return { ...base(eventType, z.literal(state)), previousState: jobState };
}

const work = {
  payload: json,
  maxTries: z.int().positive(),
  deadline: instantSchema.exactOptional(),
};
const express = { startedAt: instantSchema.exactOptional() };
const actor = { actor: z.string().exactOptional() };
const error = { error: z.string() };
const keyed = { concurrency: concurrencySchema };
const maybeKeyed = { concurrency: concurrencySchema.exactOptional() };
const ended = {
  error: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  ...actor,
  ...maybeKeyed,
};

const union = z.discriminatedUnion("eventType", [
  z.object({
    ...base("created", z.literal("pending")),
    ...work,
    ...maybeKeyed,
    queuePolicy: queuePolicySchema.exactOptional(),
  }),
  z.object({ ...after("started", "active"), instanceId: nameSchema("instance id"), ...maybeKeyed }),
  z.object({
    ...after("retry", "retry"),
    ...error,
    ...express,
    reason: z.enum(["error", "shutdown", "snooze", "timeout"]).exactOptional(),
  }),
  z.object({ ...after("progress", "active"), progress: progressSchema }),
  z.object({ ...after("logged", "active"), logs: z.array(logEntrySchema) }),
  z.object({ ...after("heartbeat", "active"), ...maybeKeyed }),
  z.object({
    ...after("completed", "completed"),
    ...express,
    ...maybeKeyed,
    result: json.exactOptional(),
  }),
  z.object({ ...after("failed", "failed"), ...error, ...express, ...maybeKeyed }),
  z.object({ ...after("dead", "dead"), ...error, ...express, ...maybeKeyed }),
  z.object({ ...after("cancelled", "cancelled"), ...ended }),
  z.object({ ...after("expired", "expired"), ...ended }),
  z.object({ ...after("dismissed", "dismissed"), ...ended }),
  z.object({ ...after("skipped", "skipped"), ...error, ...keyed }),
  z.object({ ...after("stale", "stale"), ...error, ...keyed, ...actor }),
  z.object({
    ...base("staleCompletionIgnored", jobState),
    previousState: jobState,
    ...error,
    ...keyed,
  }),
  z.object({ ...after("retried", "pending"), ...work, ...actor }),
]);

/** The schema of every lifecycle event. */
export const jobEventSchema: z.ZodType<JobEvent> = union;

/**
 * Tells whether a text names an event that this version knows.
 *
 * @example
 * ```ts
 * import { isJobEventType } from "./event_schemas.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isJobEventType("created"), true);
 * assert.equal(isJobEventType("teleported"), false);
 * ```
 */
export function isJobEventType(text: string): text is JobEventType {
  return Object.hasOwn(TRANSITIONS, text);
}

type Plain<T> = T extends object ? { -readonly [Key in keyof T]: Plain<T[Key]> } : T;
type Identical<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
type InferredEvent = z.infer<typeof union>;

// The interfaces in events.ts and the schemas above are written twice because JSR wants explicit
// types; this stops compiling, at the event's name, when one of them changes alone.
const schemasMatchInterfaces: {
  readonly [Type in JobEventType]: Identical<
    Plain<Extract<InferredEvent, { eventType: Type }>>,
    Plain<JobEventOf<Type>>
  >;
} = {
  created: true,
  started: true,
  retry: true,
  progress: true,
  logged: true,
  heartbeat: true,
  completed: true,
  failed: true,
  dead: true,
  cancelled: true,
  expired: true,
  dismissed: true,
  skipped: true,
  stale: true,
  staleCompletionIgnored: true,
  retried: true,
};
void schemasMatchInterfaces;
