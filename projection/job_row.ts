/**
 * A projected job: a small row that every list reads, and its documents, which can be large.
 *
 * @module
 */

import type { Job, JobLogEntry } from "../protocol/mod.ts";

/** A job without what can be large: its payload, its result and its log. */
export type JobSummary = Omit<Job, "payload" | "result" | "logs">;

/** One row of the projection. */
export interface JobRow {
  /** The job, as the fold of its events says. */
  readonly summary: JobSummary;
  /** Place of its `created` event in the stream. */
  readonly firstSequence: number;
  /** Place of its newest event, also of one that changed nothing: where its history ends. */
  readonly lastSequence: number;
  /** Place of the event that changed it last: lists are in this order, newest first. */
  readonly changedSequence: number;
  /** When the server stored that event; never earlier than for any event before it. */
  readonly changedAt: string;
}

/** What of a job can be large. */
export interface JobDocuments {
  /** The job's input. */
  readonly payload: unknown;
  /** The handler's result. */
  readonly result?: unknown;
  /** The newest log lines. */
  readonly logs?: readonly JobLogEntry[];
  /** How many older lines are no longer kept. */
  readonly droppedLogs: number;
}

/** A whole projected job. */
export interface ProjectedJob extends JobRow {
  /** The job; its `logs` are the newest lines. */
  readonly job: Job;
  /** How many older log lines are no longer kept. */
  readonly droppedLogs: number;
}

/** What a write changes in a job's documents: what is left out stays as it is. */
export interface DocumentChange {
  /** Result and log of a former life go first. */
  readonly drop?: true;
  /** The new input. */
  readonly payload?: unknown;
  /** The new result. */
  readonly result?: unknown;
  /** The log as it stands now. */
  readonly logs?: { readonly lines: readonly JobLogEntry[]; readonly dropped: number };
}

/** One job in a write. */
export interface JobChange {
  /** Its row as it was read; left out for a job that had none. */
  readonly before?: JobRow;
  /** Its row from now on. */
  readonly row: JobRow;
  /** What changes in its documents. */
  readonly documents: DocumentChange;
}

/**
 * Puts a row and its documents together.
 *
 * @example
 * ```ts
 * import { joinJob } from "./job_row.ts";
 * import assert from "node:assert/strict";
 *
 * const row = {
 *   summary: {
 *     id: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
 *     service: "billing",
 *     type: "charge",
 *     state: "completed",
 *     context: { requestId: "r-1", traceId: "4bf92f3577b34da6a3ce929d0e0e4736", traceparent: "…" },
 *     createdAt: "2026-01-01T00:00:00.000Z",
 *     updatedAt: "2026-01-01T00:00:01.000Z",
 *     tries: 1,
 *     maxTries: 5,
 *   },
 *   firstSequence: 1,
 *   lastSequence: 3,
 *   changedSequence: 3,
 *   changedAt: "2026-01-01T00:00:01.000Z",
 * } as const;
 * const { job } = joinJob(row, { payload: { cents: 1200 }, result: null, droppedLogs: 0 });
 * assert.deepEqual([job.state, job.payload, job.result], ["completed", { cents: 1200 }, null]);
 * ```
 */
export function joinJob(row: JobRow, documents: JobDocuments): ProjectedJob {
  const { payload, result, logs, droppedLogs } = documents;
  const job: Job = {
    ...row.summary,
    payload,
    ...(result !== undefined && { result }),
    ...(logs !== undefined && { logs }),
  };
  return { ...row, job, droppedLogs };
}
