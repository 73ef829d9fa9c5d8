/**
 * Folds a batch of events onto rows: what the projector writes, decided without touching anything.
 *
 * @module
 */

import { type Job, type JobEvent, type JobLogEntry, reduce } from "../protocol/mod.ts";
import type { DocumentChange, JobChange, JobRow } from "./job_row.ts";
import { createTally, measureEvent } from "./measure.ts";
import type { StatisticsDelta } from "./statistics.ts";

/** An event at its place in the stream. */
export interface StoredEvent {
  /** The event. */
  readonly event: JobEvent;
  /** Its place. */
  readonly sequence: number;
  /** When the stream took it; never earlier than for the event before it. */
  readonly storedAt: string;
}

/** The log of a job as the store has it. */
export interface KeptLog {
  /** The newest lines. */
  readonly lines: readonly JobLogEntry[];
  /** How many older ones are no longer kept. */
  readonly dropped: number;
}

/** What a batch is folded onto. */
export interface FoldInput {
  /** The events, in the order of the stream. */
  readonly events: readonly StoredEvent[];
  /** The rows of their jobs, by id, as far as there are any. */
  readonly rows: ReadonlyMap<string, JobRow>;
  /** The logs of those rows that a `logged` event in the batch is about. */
  readonly logs: ReadonlyMap<string, KeptLog>;
  /** How many log lines are kept per job. */
  readonly keepLogs: number;
  /** The present instant: older statistics are left out. */
  readonly now: number;
}

/** What a batch comes to. */
export interface FoldOutput {
  /** Rows that are new or changed. */
  readonly jobs: readonly JobChange[];
  /** What is added to the statistics. */
  readonly statistics: readonly StatisticsDelta[];
  /** Events that no row could take: of a job without `created`, or under another job's id. */
  readonly skipped: Readonly<Record<string, number>>;
}

/**
 * Stands for a document that was not read, because folding only carries it on. The reducer never
 * looks into a payload or a result, so what comes out as this is what went in.
 */
const UNREAD: object = Object.freeze({});
const UNREAD_LOGS: readonly JobLogEntry[] = Object.freeze([]);

interface Draft {
  readonly row: JobRow | undefined;
  /** The log as it was found: if it is still this one, it need not be written. */
  readonly foundLogs: readonly JobLogEntry[] | undefined;
  readonly firstSequence: number;
  job: Job;
  droppedLogs: number;
  /** Whether a new life has begun: result and log of the former one are gone. */
  reborn: boolean;
  lastSequence: number;
  changedSequence: number;
  changedAt: string;
}

/** Folds a batch. Events that change nothing still move the end of their job's history. */
export function foldBatch(input: FoldInput): FoldOutput {
  const drafts = new Map<string, Draft>();
  const tally = createTally(input.now);
  const skipped: Record<string, number> = {};
  for (const stored of input.events) {
    const { event } = stored;
    const draft = drafts.get(event.jobId) ?? draftOf(input, event.jobId);
    const job = reduce(draft?.job, event);
    const problem = skipReason(draft?.job, job, event);
    if (job === undefined || problem !== undefined) {
      skipped[problem ?? "no-job"] = (skipped[problem ?? "no-job"] ?? 0) + 1;
      continue;
    }
    if (job !== draft?.job) measureEvent(draft?.job, event, tally.at(event, stored.storedAt));
    drafts.set(event.jobId, advance(draft, job, stored, input.keepLogs));
  }
  return {
    jobs: [...drafts.values()].map(changeOf),
    statistics: tally.deltas(),
    skipped,
  };
}

function skipReason(before: Job | undefined, after: Job | undefined, event: JobEvent) {
  if (after === undefined) return "no-job";
  const foreign = before !== undefined &&
    (before.service !== event.service || before.type !== event.jobType);
  return foreign ? "id-taken" : undefined;
}

function draftOf({ rows, logs }: FoldInput, jobId: string): Draft | undefined {
  const row = rows.get(jobId);
  if (row === undefined) return undefined;
  const log = logs.get(jobId);
  const foundLogs = log?.lines ?? UNREAD_LOGS;
  return {
    row,
    foundLogs,
    firstSequence: row.firstSequence,
    job: { ...row.summary, payload: UNREAD, result: UNREAD, logs: foundLogs },
    droppedLogs: log?.dropped ?? 0,
    reborn: false,
    lastSequence: row.lastSequence,
    changedSequence: row.changedSequence,
    changedAt: row.changedAt,
  };
}

function advance(
  draft: Draft | undefined,
  job: Job,
  { event, sequence, storedAt }: StoredEvent,
  keepLogs: number,
): Draft {
  if (draft === undefined) {
    return {
      row: undefined,
      foundLogs: undefined,
      firstSequence: sequence,
      job,
      droppedLogs: 0,
      reborn: false,
      lastSequence: sequence,
      changedSequence: sequence,
      changedAt: storedAt,
    };
  }
  draft.lastSequence = sequence;
  if (job === draft.job) return draft;
  draft.job = job;
  draft.changedSequence = sequence;
  draft.changedAt = storedAt;
  if (event.eventType === "retried") {
    draft.reborn = true;
    draft.droppedLogs = 0;
  }
  if (event.eventType === "logged") trimLog(draft, Math.max(keepLogs, event.logs.length));
  return draft;
}

/** The newest event's lines all stay: by them a second delivery of the same lines is recognised. */
function trimLog(draft: Draft, keep: number): void {
  const excess = (draft.job.logs?.length ?? 0) - keep;
  if (excess <= 0) return;
  draft.droppedLogs += excess;
  draft.job = { ...draft.job, logs: draft.job.logs?.slice(excess) ?? [] };
}

function changeOf(draft: Draft): JobChange {
  const { payload: _payload, result: _result, logs: _logs, ...summary } = draft.job;
  const row: JobRow = {
    summary,
    firstSequence: draft.firstSequence,
    lastSequence: draft.lastSequence,
    changedSequence: draft.changedSequence,
    changedAt: draft.changedAt,
  };
  const documents = documentsOf(draft);
  return draft.row === undefined ? { row, documents } : { before: draft.row, row, documents };
}

function documentsOf({ row, job, foundLogs, reborn, droppedLogs }: Draft): DocumentChange {
  const { payload, result, logs } = job;
  return {
    ...(reborn && row !== undefined && { drop: true }),
    ...(payload !== UNREAD && { payload }),
    ...(result !== undefined && result !== UNREAD && { result }),
    ...(logs !== undefined && logs !== foundLogs &&
      { logs: { lines: logs, dropped: droppedLogs } }),
  };
}
