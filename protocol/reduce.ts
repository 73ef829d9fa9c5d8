/**
 * Folds events into a job. Total: an illegal, repeated or foreign event returns the same job.
 *
 * @module
 */

import type { JobConcurrency, JobEvent, JobLogEntry } from "./events.ts";
import type { Job } from "./job.ts";
import { isTerminal } from "./states.ts";
import { transition } from "./transitions.ts";

/**
 * Applies one event to a job; `undefined` is the job before `created`.
 *
 * Returns the very same object when the event has no effect, so callers can compare by identity.
 * A `logged` event that repeats the newest lines is taken for a second delivery of the same lines.
 *
 * @example
 * ```ts
 * import { reduce } from "./reduce.ts";
 * import assert from "node:assert/strict";
 *
 * const base = {
 *   jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
 *   service: "billing",
 *   jobType: "charge",
 *   context: { requestId: "r-1", traceId: "4bf92f3577b34da6a3ce929d0e0e4736", traceparent: "…" },
 *   timestamp: "2026-01-01T00:00:00.000Z",
 * };
 * const created = reduce(undefined, {
 *   ...base,
 *   eventType: "created",
 *   state: "pending",
 *   tries: 0,
 *   payload: { cents: 1200 },
 *   maxTries: 5,
 * });
 * assert.equal(created?.state, "pending");
 * ```
 */
export function reduce(job: Job | undefined, event: JobEvent): Job | undefined {
  if (job !== undefined && !concerns(job, event)) return job;
  const state = transition(job?.state ?? "none", event);
  if (state === undefined) return job;
  if (job === undefined) return event.eventType === "created" ? createdJob(event) : undefined;
  if (event.eventType === "staleCompletionIgnored") return job;
  if (event.eventType === "logged" && endsWith(job.logs ?? [], event.logs)) return job;
  const moved: Job = { ...job, state, tries: event.tries, updatedAt: event.timestamp };
  const applied = apply(moved, event);
  return isTerminal(state) ? { ...applied, completedAt: event.timestamp } : applied;
}

/**
 * Folds a whole history, oldest event first, onto a job or onto nothing.
 *
 * @example
 * ```ts
 * import { fold } from "./reduce.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(fold([]), undefined);
 * ```
 */
export function fold(events: Iterable<JobEvent>, job?: Job): Job | undefined {
  let folded = job;
  for (const event of events) folded = reduce(folded, event);
  return folded;
}

function concerns(job: Job, event: JobEvent): boolean {
  return job.id === event.jobId && job.service === event.service && job.type === event.jobType;
}

function createdJob(event: JobEvent & { eventType: "created" }): Job {
  return {
    id: event.jobId,
    service: event.service,
    type: event.jobType,
    state: "pending",
    context: event.context,
    payload: event.payload,
    createdAt: event.timestamp,
    updatedAt: event.timestamp,
    tries: event.tries,
    maxTries: event.maxTries,
    ...(event.deadline !== undefined && { deadline: event.deadline }),
    ...(event.concurrency !== undefined && { concurrency: event.concurrency }),
    ...(event.queuePolicy !== undefined && { queuePolicy: event.queuePolicy }),
  };
}

function apply(job: Job, event: JobEvent): Job {
  switch (event.eventType) {
    case "started":
      return {
        ...job,
        startedAt: event.timestamp,
        instanceId: event.instanceId,
        ...mergedConcurrency(job, event.concurrency),
      };
    case "retry":
      return { ...withoutLease(job), lastError: event.error, ...startedAt(event) };
    case "progress":
      return { ...job, progress: event.progress };
    case "logged":
      return { ...job, logs: [...(job.logs ?? []), ...event.logs] };
    case "heartbeat":
      return { ...job, ...mergedConcurrency(job, event.concurrency) };
    case "completed":
      return {
        ...job,
        ...(event.result !== undefined && { result: event.result }),
        ...startedAt(event),
        ...mergedConcurrency(job, event.concurrency),
      };
    case "failed":
    case "dead":
      return {
        ...job,
        lastError: event.error,
        ...startedAt(event),
        ...mergedConcurrency(job, event.concurrency),
      };
    case "cancelled":
    case "expired":
    case "dismissed":
      return {
        ...job,
        ...(event.error !== undefined && { lastError: event.error }),
        ...(event.reason !== undefined && { reason: event.reason }),
        ...(event.actor !== undefined && { actor: event.actor }),
        ...mergedConcurrency(job, event.concurrency),
      };
    case "skipped":
      return { ...job, lastError: event.error, ...mergedConcurrency(job, event.concurrency) };
    case "stale":
      return {
        ...job,
        lastError: event.error,
        ...(event.actor !== undefined && { actor: event.actor }),
        ...mergedConcurrency(job, event.concurrency),
      };
    case "retried":
      return againFromTheStart(job, event);
    default:
      return job;
  }
}

/** `retried` begins a new life: only identity, input and creation stay. */
function againFromTheStart(job: Job, event: JobEvent & { eventType: "retried" }): Job {
  return {
    id: job.id,
    service: job.service,
    type: job.type,
    state: job.state,
    context: job.context,
    payload: event.payload,
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
    tries: 0,
    maxTries: event.maxTries,
    ...(event.deadline !== undefined && { deadline: event.deadline }),
    ...(event.actor !== undefined && { actor: event.actor }),
    ...(job.queuePolicy !== undefined && { queuePolicy: job.queuePolicy }),
    ...(job.concurrency !== undefined && { concurrency: keyOnly(job.concurrency) }),
  };
}

function startedAt(event: { readonly startedAt?: string }): { startedAt?: string } {
  return event.startedAt === undefined ? {} : { startedAt: event.startedAt };
}

function mergedConcurrency(
  job: Job,
  lease: JobConcurrency | undefined,
): { concurrency?: JobConcurrency } {
  return lease === undefined ? {} : { concurrency: { ...job.concurrency, ...lease } };
}

/** A job that waits for its next try holds no slot: its lease must not look alive. */
function withoutLease(job: Job): Job {
  return job.concurrency === undefined ? job : { ...job, concurrency: keyOnly(job.concurrency) };
}

function keyOnly({ key, keyHash, staleTakeoverCount }: JobConcurrency): JobConcurrency {
  return { key, keyHash, ...(staleTakeoverCount !== undefined && { staleTakeoverCount }) };
}

function endsWith(logs: readonly JobLogEntry[], lines: readonly JobLogEntry[]): boolean {
  const start = logs.length - lines.length;
  return start >= 0 && lines.every((line, index) => sameLine(line, logs[start + index]));
}

function sameLine(line: JobLogEntry, other: JobLogEntry | undefined): boolean {
  return line.timestamp === other?.timestamp && line.level === other.level &&
    line.message === other.message;
}
