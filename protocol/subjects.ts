/**
 * Every subject, filter, stream and key name of the system, built and parsed here and nowhere else.
 *
 * Builders trust their arguments: names are checked where they enter. Parsers trust nothing.
 *
 * @module
 */

import type { JobEventType } from "./events.ts";
import type { JobAddress } from "./job.ts";
import { isJobId, nameProblem } from "./names.ts";
import { err, ok, type Result } from "./result.ts";

/** The stream that is the truth: every lifecycle event of every job. */
export const JOBS_STREAM = "JOBS";
/** The stream of work to do, sourced from {@linkcode JOBS_STREAM}. */
export const WORK_STREAM = "JOBS_WORK";
/** The stream of worker presence: the latest heartbeat of each worker. */
export const WORKERS_STREAM = "JOBS_WORKERS";
/** The stream that keeps the server's max-delivery advisories. */
export const ADVISORIES_STREAM = "JOBS_ADVISORIES";
/** The bucket of key leases. */
export const KEYS_BUCKET = "JOBS_KEYS";
/** The bucket of declared queues and idempotency records. */
export const META_BUCKET = "JOBS_META";
/** The bucket of the admin's owner lease. */
export const ADMIN_BUCKET = "JOBS_ADMIN";

/** Filter of all lifecycle events: exactly six tokens, so presence does not match. */
export const LIFECYCLE_FILTER = "trellis.jobs.*.*.*.*";
/** Filter of all worker heartbeats: seven tokens. */
export const PRESENCE_FILTER = "trellis.jobs.workers.*.*.*.heartbeat";
/** Filter of all work. */
export const WORK_FILTER = "trellis.work.>";
/** Filter of the advisories about work that was delivered too often. */
export const ADVISORY_FILTER = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.JOBS_WORK.>";
/** Where the two work-making events go: the source's transform destination. */
export const WORK_TRANSFORM_DESTINATION = "trellis.work.$1.$2";

/** The events that put a job into the work queue. */
export const WORK_EVENTS = ["created", "retried"] as const satisfies readonly JobEventType[];

/** A worker process on one queue. */
export interface WorkerAddress {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly jobType: string;
  /** The process. */
  readonly instanceId: string;
}

/** A queue of a service. */
export interface QueueAddress {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly jobType: string;
}

/** Subject of one lifecycle event of a job. */
export function lifecycleSubject(job: JobAddress, eventType: JobEventType): string {
  return `trellis.jobs.${job.service}.${job.jobType}.${job.jobId}.${eventType}`;
}

/** Filter of all events of a job: what lifecycle compare-and-set and reads refer to. */
export function jobFilter(job: JobAddress): string {
  return `trellis.jobs.${job.service}.${job.jobType}.${job.jobId}.*`;
}

/** Filter of one event type for all jobs of a queue. */
export function queueEventFilter(queue: QueueAddress, eventType: JobEventType): string {
  return `trellis.jobs.${queue.service}.${queue.jobType}.*.${eventType}`;
}

/** Filter of one event type for all jobs of all services. */
export function eventFilter(eventType: JobEventType): string {
  return `trellis.jobs.*.*.*.${eventType}`;
}

/** Filter of all lifecycle events of a queue. */
export function queueFilter(queue: QueueAddress): string {
  return `trellis.jobs.${queue.service}.${queue.jobType}.*.*`;
}

/** Filter of all lifecycle events of a service. */
export function serviceFilter(service: string): string {
  return `trellis.jobs.${service}.>`;
}

/** Filter of the requests to the admin. */
export const RPC_FILTER = "rpc.v1.Jobs.*";

/** Subject of the requests for one procedure of the admin. */
export function rpcSubject(procedure: string): string {
  return `rpc.v1.Jobs.${procedure}`;
}

/** Gives the procedure that a request is for; an empty text when the subject is none of ours. */
export function parseRpcSubject(subject: string): string {
  return /^rpc\.v1\.Jobs\.([A-Za-z]{1,64})$/.exec(subject)?.[1] ?? "";
}

/** Subject of a worker's presence heartbeat. */
export function presenceSubject(worker: WorkerAddress): string {
  return `trellis.jobs.workers.${worker.service}.${worker.jobType}.${worker.instanceId}.heartbeat`;
}

/** Filter of the presence heartbeats of a service. */
export function servicePresenceFilter(service: string): string {
  return `trellis.jobs.workers.${service}.>`;
}

/** Subject of a queue's work. */
export function workSubject(queue: QueueAddress): string {
  return `trellis.work.${queue.service}.${queue.jobType}`;
}

/** Filter of all work of a service. */
export function serviceWorkFilter(service: string): string {
  return `trellis.work.${service}.>`;
}

/**
 * Name of a queue's durable consumer. Two queues can share one (`a-b`+`c`, `a`+`b-c`): the filter
 * tells them apart, and a worker refuses to start on another queue's consumer.
 */
export function durableName(queue: QueueAddress): string {
  return `${queue.service}-${queue.jobType}`;
}

/** Key of a job key's state in {@linkcode KEYS_BUCKET}; dots, so that permissions can scope it. */
export function keyStateKey(queue: QueueAddress, keyHash: string): string {
  return `${queue.service}.${queue.jobType}.${keyHash}`;
}

/** Key of a service's declared queues in {@linkcode META_BUCKET}. */
export function queueRegistryKey(service: string): string {
  return `${service}.queues`;
}

/** Key of an idempotency record in {@linkcode META_BUCKET}; the hash is of the caller's key. */
export function idempotencyRecordKey(queue: QueueAddress, keyHash: string): string {
  return `${queue.service}.idempotency.${queue.jobType}.${keyHash}`;
}

/** Name of the stream behind a bucket. */
export function bucketStream(bucket: string): string {
  return `KV_${bucket}`;
}

/** Subject of a key in a bucket, or a filter when the key has wildcards. */
export function bucketSubject(bucket: string, key: string): string {
  return `$KV.${bucket}.${key}`;
}

/**
 * Reads a lifecycle subject; the event type may be one that this version does not know.
 *
 * @example
 * ```ts
 * import { parseLifecycleSubject } from "./subjects.ts";
 * import assert from "node:assert/strict";
 *
 * const subject = "trellis.jobs.billing.charge.01JZ6N5V4T8Y3K2QX9W7R5M1AB.created";
 * assert.deepEqual(parseLifecycleSubject(subject), {
 *   ok: true,
 *   value: {
 *     service: "billing",
 *     jobType: "charge",
 *     jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
 *     eventType: "created",
 *   },
 * });
 * ```
 */
export function parseLifecycleSubject(
  subject: string,
): Result<JobAddress & { readonly eventType: string }, string> {
  const tokens = subject.split(".");
  const [root, family, service = "", jobType = "", jobId = "", eventType = ""] = tokens;
  if (tokens.length !== 6 || root !== "trellis" || family !== "jobs") {
    return err(`${shown(subject)} is not a lifecycle subject`);
  }
  const problem = nameProblem("service", service) ?? nameProblem("job type", jobType);
  if (problem !== undefined) return err(problem);
  if (!isJobId(jobId)) return err(`the job id ${shown(jobId)} is not a ULID`);
  if (!/^[A-Za-z]{1,64}$/.test(eventType)) {
    return err(`the event type ${shown(eventType)} is not a word`);
  }
  return ok({ service, jobType, jobId, eventType });
}

/**
 * Reads a presence subject.
 *
 * @example
 * ```ts
 * import { parsePresenceSubject } from "./subjects.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(parsePresenceSubject("trellis.jobs.workers.billing.charge.i1.heartbeat").ok, true);
 * assert.equal(parsePresenceSubject("trellis.jobs.billing.charge.i1.heartbeat").ok, false);
 * ```
 */
export function parsePresenceSubject(subject: string): Result<WorkerAddress, string> {
  const tokens = subject.split(".");
  const [root, family, workers, service = "", jobType = "", instanceId = "", last] = tokens;
  const shaped = tokens.length === 7 && root === "trellis" && family === "jobs" &&
    workers === "workers" && last === "heartbeat";
  if (!shaped) return err(`${shown(subject)} is not a presence subject`);
  const problem = nameProblem("service", service) ?? nameProblem("job type", jobType) ??
    nameProblem("instance id", instanceId);
  return problem === undefined ? ok({ service, jobType, instanceId }) : err(problem);
}

/**
 * Reads a work subject.
 *
 * @example
 * ```ts
 * import { parseWorkSubject } from "./subjects.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseWorkSubject("trellis.work.billing.charge"), {
 *   ok: true,
 *   value: { service: "billing", jobType: "charge" },
 * });
 * ```
 */
export function parseWorkSubject(subject: string): Result<QueueAddress, string> {
  const tokens = subject.split(".");
  const [root, family, service = "", jobType = ""] = tokens;
  if (tokens.length !== 4 || root !== "trellis" || family !== "work") {
    return err(`${shown(subject)} is not a work subject`);
  }
  const problem = nameProblem("service", service) ?? nameProblem("job type", jobType);
  return problem === undefined ? ok({ service, jobType }) : err(problem);
}

/**
 * Reads the key of a key-state entry.
 *
 * @example
 * ```ts
 * import { parseKeyStateKey } from "./subjects.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(parseKeyStateKey(`billing.charge.${"0f".repeat(32)}`).ok, true);
 * assert.equal(parseKeyStateKey("billing/charge/0f").ok, false);
 * ```
 */
export function parseKeyStateKey(
  key: string,
): Result<QueueAddress & { readonly keyHash: string }, string> {
  const tokens = key.split(".");
  const [service = "", jobType = "", keyHash = ""] = tokens;
  if (tokens.length !== 3 || !/^[0-9a-f]{64}$/.test(keyHash)) {
    return err(`${shown(key)} is not the key of a key state`);
  }
  const problem = nameProblem("service", service) ?? nameProblem("job type", jobType);
  return problem === undefined ? ok({ service, jobType, keyHash }) : err(problem);
}

/** Foreign text goes into logs and errors: quoted, and not without end. */
function shown(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
