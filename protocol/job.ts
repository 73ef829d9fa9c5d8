/**
 * A job as the fold of its events.
 *
 * @module
 */

import type {
  JobConcurrency,
  JobContext,
  JobLogEntry,
  JobProgress,
  JobQueuePolicy,
} from "./events.ts";
import type { JobState } from "./states.ts";

/** What a service, a job type and an id address: one job, one family of subjects. */
export interface JobAddress {
  /** The owning service. */
  readonly service: string;
  /** The queue of that service. */
  readonly jobType: string;
  /** ULID of the job. */
  readonly jobId: string;
}

/** Everything that its events say about a job. */
export interface Job {
  /** ULID. */
  readonly id: string;
  /** The owning service. */
  readonly service: string;
  /** The queue of that service. */
  readonly type: string;
  /** Where it stands. */
  readonly state: JobState;
  /** Correlation, made once at creation. */
  readonly context: JobContext;
  /** The job's input, as JSON. */
  readonly payload: unknown;
  /** The handler's result, once `completed`. */
  readonly result?: unknown;
  /** When it was created. */
  readonly createdAt: string;
  /** Timestamp of the last event that changed it. */
  readonly updatedAt: string;
  /** When the latest try began. */
  readonly startedAt?: string;
  /** When its life ended, in any terminal state. */
  readonly completedAt?: string;
  /** Tries begun so far. */
  readonly tries: number;
  /** Tries allowed. */
  readonly maxTries: number;
  /** The last thing that went wrong; it stays when a later try succeeds. */
  readonly lastError?: string;
  /** Why it was ended from outside or put back, as far as the event said. */
  readonly reason?: string;
  /** The operator behind the last command, if any. */
  readonly actor?: string;
  /** The instant after which nobody wants the result. */
  readonly deadline?: string;
  /** The worker process of the latest try. */
  readonly instanceId?: string;
  /** Its key and lease, in a keyed queue. */
  readonly concurrency?: JobConcurrency;
  /** What the queue policy decided at creation. */
  readonly queuePolicy?: JobQueuePolicy;
  /** The latest progress. */
  readonly progress?: JobProgress;
  /** All lines logged so far. */
  readonly logs?: readonly JobLogEntry[];
}

/**
 * Gives the address of a folded job.
 *
 * @example
 * ```ts
 * import { addressOf } from "./job.ts";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(
 *   addressOf({ id: "01JZ6N5V4T8Y3K2QX9W7R5M1AB", service: "billing", type: "charge" }),
 *   { service: "billing", jobType: "charge", jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB" },
 * );
 * ```
 */
export function addressOf(job: Pick<Job, "id" | "service" | "type">): JobAddress {
  return { service: job.service, jobType: job.type, jobId: job.id };
}
