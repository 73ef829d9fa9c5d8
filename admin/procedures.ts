/**
 * The procedures of the admin: one table, from which both transports, the client and the document
 * are made.
 *
 * @module
 */

import { cancelJob, dismissJob, purgeJob, replayJob, retryJob } from "./functions/change_job.ts";
import { cancelMany, dismissMany, replayMany, retryMany } from "./functions/change_many.ts";
import { getKey, releaseKey } from "./functions/keys.ts";
import { getEvents, getJob, listDLQ, listJobs } from "./functions/list_jobs.ts";
import { listQueues, listServices, pauseQueue, resumeQueue } from "./functions/queues.ts";
import { readStats } from "./functions/statistics.ts";
import { ok } from "../protocol/mod.ts";
import * as bulk from "./messages/bulk.ts";
import type { PageRequest, PageResponse } from "./messages/fields.ts";
import * as health from "./messages/health.ts";
import * as jobs from "./messages/jobs.ts";
import * as keys from "./messages/keys.ts";
import * as queues from "./messages/queues.ts";
import type { Procedure } from "./procedure.ts";

/** What each procedure takes and gives. */
export interface ProcedureTypes {
  /** Tells how the admin is doing. */
  Health: { input: Record<string, never>; output: health.HealthResponse };
  /** Lists services and their workers. */
  ListServices: { input: PageRequest; output: PageResponse<queues.ServiceInfo> };
  /** Lists jobs. */
  List: { input: jobs.ListRequest; output: jobs.ListResponse };
  /** Gives one job. */
  Get: { input: jobs.JobRequest; output: jobs.GetResponse };
  /** Gives a job's history. */
  Events: { input: jobs.EventsRequest; output: jobs.EventsResponse };
  /** Shows a key. */
  GetKey: { input: keys.GetKeyRequest; output: keys.GetKeyResponse };
  /** Takes a key from its holders. */
  ReleaseKey: { input: keys.ReleaseKeyRequest; output: keys.ReleaseKeyResponse };
  /** Puts a failed job back to work. */
  Retry: { input: jobs.AgainRequest; output: jobs.MutationResponse };
  /** Ends a job that waits or runs. */
  Cancel: { input: jobs.EndRequest; output: jobs.MutationResponse };
  /** Removes a finished job. */
  Purge: { input: jobs.JobRequest; output: jobs.PurgeResponse };
  /** Lists dead jobs. */
  ListDLQ: { input: jobs.ListDLQRequest; output: jobs.ListResponse };
  /** Puts a dead job back to work. */
  ReplayDLQ: { input: jobs.AgainRequest; output: jobs.MutationResponse };
  /** Closes a dead job. */
  DismissDLQ: { input: jobs.EndRequest; output: jobs.MutationResponse };
  /** Puts failed jobs back to work. */
  RetryMany: { input: bulk.AgainManyRequest; output: bulk.ManyResponse };
  /** Ends jobs that wait or run. */
  CancelMany: { input: bulk.EndManyRequest; output: bulk.ManyResponse };
  /** Puts dead jobs back to work. */
  ReplayDLQMany: { input: bulk.AgainManyRequest; output: bulk.ManyResponse };
  /** Closes dead jobs. */
  DismissDLQMany: { input: bulk.EndManyRequest; output: bulk.ManyResponse };
  /** Gives figures over time. */
  Stats: { input: health.StatsRequest; output: health.StatsResponse };
  /** Lists queues. */
  Queues: { input: PageRequest; output: PageResponse<queues.QueueInfo> };
  /** Stops handing out a queue's work. */
  PauseQueue: { input: queues.PauseQueueRequest; output: queues.PauseResponse };
  /** Hands it out again. */
  ResumeQueue: { input: queues.QueueRequest; output: queues.PauseResponse };
}

/** The name of a procedure. */
export type ProcedureName = keyof ProcedureTypes;
/** What a procedure takes. */
export type InputOf<Name extends ProcedureName> = ProcedureTypes[Name]["input"];
/** What a procedure gives. */
export type OutputOf<Name extends ProcedureName> = ProcedureTypes[Name]["output"];

/** The whole table. */
export type ProcedureTable = {
  readonly [Name in ProcedureName]: Procedure<InputOf<Name>, OutputOf<Name>>;
};

const read = { capability: "admin.read" } as const;
const mutate = { capability: "admin.mutate" } as const;
const get = (path: string) => ({ method: "get", path }) as const;
const post = (path: string) => ({ method: "post", path }) as const;

/** The procedures. */
export const PROCEDURES: ProcedureTable = {
  Health: {
    ...read,
    summary: "Tells how the admin, its loops and its projection are doing",
    http: get("/v1/health"),
    input: health.emptyRequest,
    output: health.healthResponse,
    run: async (_, { ports }) => ok(await ports.health()),
  },
  ListServices: {
    ...read,
    summary: "Lists services, their queues and the workers observed",
    http: get("/v1/services"),
    input: queues.pageRequest,
    output: queues.servicesResponse,
    run: listServices,
  },
  List: {
    ...read,
    summary: "Lists jobs that match, those that changed last first",
    http: get("/v1/jobs"),
    input: jobs.listRequest,
    output: jobs.listResponse,
    run: listJobs,
  },
  Get: {
    ...read,
    summary: "Gives one whole job",
    http: get("/v1/jobs/{id}"),
    input: jobs.jobRequest,
    output: jobs.getResponse,
    run: getJob,
  },
  Events: {
    ...read,
    summary: "Gives a job's history, oldest event first, from the stream itself",
    http: get("/v1/jobs/{id}/events"),
    input: jobs.eventsRequest,
    output: jobs.eventsResponse,
    run: getEvents,
  },
  GetKey: {
    ...read,
    summary: "Shows who holds a key and who waits for it",
    http: get("/v1/keys/{service}/{type}"),
    input: keys.getKeyRequest,
    output: keys.getKeyResponse,
    run: getKey,
  },
  ReleaseKey: {
    ...mutate,
    summary: "Takes a key from its holders; their running jobs become stale",
    http: post("/v1/keys/{service}/{type}/{keyHash}/release"),
    input: keys.releaseKeyRequest,
    output: keys.releaseKeyResponse,
    run: releaseKey,
  },
  Retry: {
    ...mutate,
    summary: "Puts a failed job back to work with all its tries",
    http: post("/v1/jobs/{id}/retry"),
    input: jobs.againRequest,
    output: jobs.mutationResponse,
    run: retryJob,
  },
  Cancel: {
    ...mutate,
    summary: "Ends a job that is pending, in retry or active; a running handler is told",
    http: post("/v1/jobs/{id}/cancel"),
    input: jobs.endRequest,
    output: jobs.mutationResponse,
    run: cancelJob,
  },
  Purge: {
    ...mutate,
    summary: "Removes a finished job from the stream and from the lists, for good",
    http: { method: "delete", path: "/v1/jobs/{id}" },
    input: jobs.jobRequest,
    output: jobs.purgeResponse,
    run: purgeJob,
  },
  ListDLQ: {
    ...read,
    summary: "Lists dead jobs: those that wait for an operator",
    http: get("/v1/dlq"),
    input: jobs.listDLQRequest,
    output: jobs.listResponse,
    run: listDLQ,
  },
  ReplayDLQ: {
    ...mutate,
    summary: "Puts a dead job back to work with all its tries",
    http: post("/v1/dlq/{id}/replay"),
    input: jobs.againRequest,
    output: jobs.mutationResponse,
    run: replayJob,
  },
  DismissDLQ: {
    ...mutate,
    summary: "Closes a dead job",
    http: post("/v1/dlq/{id}/dismiss"),
    input: jobs.endRequest,
    output: jobs.mutationResponse,
    run: dismissJob,
  },
  RetryMany: {
    ...mutate,
    summary: "Retries failed jobs by ids or by filter, with a result for each",
    http: post("/v1/jobs/retry"),
    input: bulk.againManyRequest,
    output: bulk.manyResponse,
    run: retryMany,
  },
  CancelMany: {
    ...mutate,
    summary: "Cancels unfinished jobs by ids or by filter, with a result for each",
    http: post("/v1/jobs/cancel"),
    input: bulk.endManyRequest,
    output: bulk.manyResponse,
    run: cancelMany,
  },
  ReplayDLQMany: {
    ...mutate,
    summary: "Replays dead jobs by ids or by filter, with a result for each",
    http: post("/v1/dlq/replay"),
    input: bulk.againManyRequest,
    output: bulk.manyResponse,
    run: replayMany,
  },
  DismissDLQMany: {
    ...mutate,
    summary: "Dismisses dead jobs by ids or by filter, with a result for each",
    http: post("/v1/dlq/dismiss"),
    input: bulk.endManyRequest,
    output: bulk.manyResponse,
    run: dismissMany,
  },
  Stats: {
    ...read,
    summary: "Gives counts by state, and rates and durations over time",
    http: get("/v1/stats"),
    input: health.statsRequest,
    output: health.statsResponse,
    run: readStats,
  },
  Queues: {
    ...read,
    summary: "Lists queues as declared and as observed",
    http: get("/v1/queues"),
    input: queues.pageRequest,
    output: queues.queuesResponse,
    run: listQueues,
  },
  PauseQueue: {
    ...mutate,
    summary: "Stops handing out a queue's work; needs nats-server 2.11 or newer",
    http: post("/v1/queues/{service}/{type}/pause"),
    input: queues.pauseQueueRequest,
    output: queues.pauseResponse,
    run: pauseQueue,
  },
  ResumeQueue: {
    ...mutate,
    summary: "Hands out a paused queue's work again",
    http: post("/v1/queues/{service}/{type}/resume"),
    input: queues.queueRequest,
    output: queues.pauseResponse,
    run: resumeQueue,
  },
};

/** All names, in the order of the table. Object.keys() widens; the table's keys are exactly these. */
export const PROCEDURE_NAMES: readonly ProcedureName[] = Object.keys(PROCEDURES) as ProcedureName[];

/** Tells whether a text is the name of a procedure. */
export function isProcedureName(text: string): text is ProcedureName {
  return Object.hasOwn(PROCEDURES, text);
}
