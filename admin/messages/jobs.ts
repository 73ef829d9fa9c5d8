/**
 * Requests about jobs, and the answers.
 *
 * @module
 */

import { z } from "zod";
import { jobEventSchema } from "../../protocol/event_schemas.ts";
import type { Job, JobEvent, JobState } from "../../protocol/mod.ts";
import {
  countField,
  idField,
  instantAnswer,
  instantField,
  jsonField,
  nameField,
  pageAnswer,
  pageFields,
  type PageRequest,
  type PageResponse,
  reasonField,
  stateField,
} from "./fields.ts";

/** Which job. */
export interface JobRequest {
  /** ULID of the job. */
  readonly id: string;
}

/** Which jobs; every field narrows. */
export interface JobFilterRequest {
  /** Jobs of this service. */
  readonly service?: string;
  /** Jobs of this type. */
  readonly type?: string;
  /** Jobs in one of these states. */
  readonly state?: readonly JobState[];
  /** Jobs that changed at or after this instant, RFC 3339. */
  readonly since?: string;
}

/** How a page of jobs is read. */
export interface JobPageRequest extends PageRequest {
  /** Where the page before ended, for lists deeper than an offset reaches: its `nextCursor`. */
  readonly cursor?: string;
  /** Whether payloads, results and logs are wanted; they are unless this is `false`. */
  readonly documents?: boolean;
}

/** A page of jobs that match. */
export interface ListRequest extends JobFilterRequest, JobPageRequest {}

/** A page of dead jobs that match. */
export interface ListDLQRequest extends Omit<JobFilterRequest, "state">, JobPageRequest {}

/** A job in a list. */
export interface ListedJob extends Omit<Job, "payload"> {
  /** The job's input. */
  readonly payload?: unknown;
  /** Payload, result and logs are left out, unwanted or too large for a page: `Get` has them. */
  readonly documentsOmitted?: true;
}

/** A page of jobs, those that changed last first. */
export interface ListResponse extends PageResponse<ListedJob> {
  /** Where the next page begins, at any depth; left out on the last one. */
  readonly nextCursor?: string;
}

/** One whole job. */
export interface GetResponse {
  /** The job. */
  readonly job: Job;
  /** Older log lines that are no longer kept. */
  readonly droppedLogs: number;
  /** Place of its newest event in the stream. */
  readonly lastSequence: number;
}

/** Part of a job's history. */
export interface EventsRequest extends JobRequest {
  /** From this place on; from the beginning when left out. */
  readonly fromSequence?: number;
  /** The most events, from 1 to 500; 100 when left out. */
  readonly limit?: number;
}

/** An event at its place in the stream. */
export interface SequencedEventAnswer {
  /** The place. */
  readonly sequence: number;
  /** When the server stored it. */
  readonly storedAt: string;
  /** The event. */
  readonly event: JobEvent;
}

/** Part of a job's history, oldest first. */
export interface EventsResponse {
  /** The events. */
  readonly entries: readonly SequencedEventAnswer[];
  /** Where the next part begins; left out at the end. */
  readonly nextSequence?: number;
}

/** Ends a job from outside. */
export interface EndRequest extends JobRequest {
  /** Why, for people; it is recorded. */
  readonly reason?: string;
}

/** Puts a job back to work. */
export interface AgainRequest extends JobRequest {
  /** A new deadline, counted from now. Without one, a passed deadline is set as far ahead as it was. */
  readonly deadlineMs?: number;
  /** Tries it has now; as many as before when left out. */
  readonly maxTries?: number;
}

/** What a mutation has done. */
export interface MutationResponse {
  /** The job after it. */
  readonly job: Job;
  /** Whether lists show it already. `false`: it is done and stored, and lists will follow. */
  readonly projected: boolean;
}

/** A job that is gone. */
export interface PurgeResponse {
  /** The job. */
  readonly id: string;
}

const progress = z.object({
  step: z.string().exactOptional(),
  message: z.string().exactOptional(),
  current: z.number().exactOptional(),
  total: z.number().exactOptional(),
});
const jobFields = {
  id: z.string(),
  service: z.string(),
  type: z.string(),
  state: stateField,
  context: z.object({
    requestId: z.string(),
    traceId: z.string(),
    traceparent: z.string(),
    tracestate: z.string().exactOptional(),
  }),
  result: jsonField.exactOptional(),
  createdAt: instantAnswer,
  updatedAt: instantAnswer,
  startedAt: instantAnswer.exactOptional(),
  completedAt: instantAnswer.exactOptional(),
  tries: countField,
  maxTries: countField,
  lastError: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  actor: z.string().exactOptional(),
  deadline: instantAnswer.exactOptional(),
  instanceId: z.string().exactOptional(),
  concurrency: z.object({
    key: z.string(),
    keyHash: z.string(),
    slotToken: z.string().exactOptional(),
    instanceId: z.string().exactOptional(),
    heartbeatAt: instantAnswer.exactOptional(),
    leaseExpiresAt: instantAnswer.exactOptional(),
    staleTakeoverCount: countField.exactOptional(),
  }).exactOptional(),
  queuePolicy: z.object({
    outcome: z.enum(["accepted", "rejected", "coalesced", "replaced"]).exactOptional(),
    reason: z.string().exactOptional(),
    existingJobId: z.string().exactOptional(),
    replacedJobId: z.string().exactOptional(),
  }).exactOptional(),
  progress: progress.exactOptional(),
  logs: z.array(z.object({
    timestamp: instantAnswer,
    level: z.enum(["info", "warn", "error"]),
    message: z.string(),
  })).exactOptional(),
};

/** The schema of a job. */
export const jobSchema: z.ZodType<Job> = z.object({ ...jobFields, payload: jsonField })
  .meta({ id: "Job" });
const listedJob: z.ZodType<ListedJob> = z.object({
  ...jobFields,
  payload: jsonField.exactOptional(),
  documentsOmitted: z.literal(true).exactOptional(),
}).meta({ id: "ListedJob" });

const filterFields = {
  service: nameField("service").exactOptional(),
  type: nameField("job type").exactOptional(),
  since: instantField.exactOptional(),
};
const states = z.array(stateField).min(1);
const jobPageFields = {
  ...pageFields,
  cursor: z.string().regex(/^[0-9]{1,16}$/).exactOptional(),
  documents: z.boolean().exactOptional(),
};

/** The schema of {@linkcode JobFilterRequest}. */
export const jobFilterSchema: z.ZodType<JobFilterRequest> = z.strictObject({
  ...filterFields,
  state: states.exactOptional(),
});
/** The schema of {@linkcode ListRequest}. */
export const listRequest: z.ZodType<ListRequest> = z.strictObject({
  ...filterFields,
  state: states.exactOptional(),
  ...jobPageFields,
});
/** The schema of {@linkcode ListDLQRequest}. */
export const listDLQRequest: z.ZodType<ListDLQRequest> = z.strictObject({
  ...filterFields,
  ...jobPageFields,
});
/** The schema of {@linkcode ListResponse}. */
export const listResponse: z.ZodType<ListResponse> = z.object({
  ...pageAnswer(listedJob),
  nextCursor: z.string().exactOptional(),
});
/** The schema of {@linkcode JobRequest}. */
export const jobRequest: z.ZodType<JobRequest> = z.strictObject({ id: idField });
/** The schema of {@linkcode GetResponse}. */
export const getResponse: z.ZodType<GetResponse> = z.object({
  job: jobSchema,
  droppedLogs: countField,
  lastSequence: countField,
});
/** The schema of {@linkcode EventsRequest}. */
export const eventsRequest: z.ZodType<EventsRequest> = z.strictObject({
  id: idField,
  fromSequence: countField.exactOptional(),
  limit: z.int().min(1).max(500).exactOptional(),
});
/** The schema of {@linkcode SequencedEventAnswer}. */
export const sequencedEvent: z.ZodType<SequencedEventAnswer> = z.object({
  sequence: countField,
  storedAt: instantAnswer,
  event: jobEventSchema,
}).meta({ id: "SequencedEvent" });
/** The schema of {@linkcode EventsResponse}. */
export const eventsResponse: z.ZodType<EventsResponse> = z.object({
  entries: z.array(sequencedEvent),
  nextSequence: countField.exactOptional(),
});
/** The schema of {@linkcode EndRequest}. */
export const endRequest: z.ZodType<EndRequest> = z.strictObject({
  id: idField,
  reason: reasonField.exactOptional(),
});
/** The fields of {@linkcode AgainRequest} beside the job. */
export const againFields: {
  readonly deadlineMs: z.ZodExactOptional<z.ZodInt>;
  readonly maxTries: z.ZodExactOptional<z.ZodInt>;
} = {
  deadlineMs: z.int().min(1).max(10 * 365 * 86_400_000).exactOptional(),
  maxTries: z.int().min(1).max(1_000).exactOptional(),
};
/** The schema of {@linkcode AgainRequest}. */
export const againRequest: z.ZodType<AgainRequest> = z.strictObject({
  id: idField,
  ...againFields,
});
/** The schema of {@linkcode MutationResponse}. */
export const mutationResponse: z.ZodType<MutationResponse> = z.object({
  job: jobSchema,
  projected: z.boolean(),
});
/** The schema of {@linkcode PurgeResponse}. */
export const purgeResponse: z.ZodType<PurgeResponse> = z.object({ id: z.string() });
