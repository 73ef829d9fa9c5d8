/** Rows ⇄ columns. */

import type { SQLInputValue } from "node:sqlite";
import { JOB_STATES, type JobState } from "../../protocol/mod.ts";
import type { JobDocuments, JobRow, JobSummary } from "../job_row.ts";
import { instant, integer, text } from "./_columns.ts";
import type { Row } from "./_database.ts";

/** What of a summary has no column of its own. */
type Rest = Omit<JobSummary, "id" | "service" | "type" | "state" | "deadline">;

const STATES: ReadonlyMap<string, JobState> = new Map(JOB_STATES.map((state) => [state, state]));

/** Columns that never change. */
const FIXED_COLUMNS = ["first_sequence", "id", "service", "type"] as const;
/** Columns that every step of a job changes. */
const STEP_COLUMNS = [
  "state",
  "changed_sequence",
  "changed_at",
  "last_sequence",
  "rest",
] as const;
/** Columns that hardly ever change, and have indexes that it pays to leave alone. */
const SEARCH_COLUMNS = ["deadline_at", "key", "key_hash"] as const;

/** The columns of {@linkcode rowValues}, in order. */
export const ROW_COLUMNS = [...FIXED_COLUMNS, ...STEP_COLUMNS, ...SEARCH_COLUMNS] as const;

/** The column values that a row is found by when it is written again. */
export const FIXED_COUNT = FIXED_COLUMNS.length;
/** The column values up to those that are searched by. */
export const STEP_END = FIXED_COUNT + STEP_COLUMNS.length;

/** Gives the values of a row's columns. */
export function rowValues(row: JobRow): SQLInputValue[] {
  const { summary } = row;
  return [
    row.firstSequence,
    summary.id,
    summary.service,
    summary.type,
    summary.state,
    row.changedSequence,
    Date.parse(row.changedAt),
    row.lastSequence,
    JSON.stringify(restOf(summary)),
    summary.deadline === undefined ? null : Date.parse(summary.deadline),
    summary.concurrency?.key ?? null,
    summary.concurrency?.keyHash ?? null,
  ];
}

/** Field by field, because rest syntax takes many times as long; a field more does not compile. */
function restOf(summary: JobSummary): { [Field in keyof Required<Rest>]: Rest[Field] | undefined } {
  return {
    context: summary.context,
    createdAt: summary.createdAt,
    updatedAt: summary.updatedAt,
    startedAt: summary.startedAt,
    completedAt: summary.completedAt,
    tries: summary.tries,
    maxTries: summary.maxTries,
    lastError: summary.lastError,
    reason: summary.reason,
    actor: summary.actor,
    instanceId: summary.instanceId,
    concurrency: summary.concurrency,
    queuePolicy: summary.queuePolicy,
    progress: summary.progress,
  };
}

/** Tells whether two rows are found by the same searches. */
export function sameSearches({ summary: one }: JobRow, { summary: other }: JobRow): boolean {
  return one.deadline === other.deadline && one.concurrency?.key === other.concurrency?.key &&
    one.concurrency?.keyHash === other.concurrency?.keyHash;
}

/** Reads a row. */
export function readRow(row: Row): JobRow {
  // Written by rowValues() and by nobody else: the type is that of what was written.
  const rest: Rest = JSON.parse(text(row["rest"]));
  return {
    summary: {
      id: text(row["id"]),
      service: text(row["service"]),
      type: text(row["type"]),
      state: readState(row["state"]),
      ...(row["deadline_at"] !== null && { deadline: instant(row["deadline_at"]) }),
      ...rest,
    },
    firstSequence: integer(row["first_sequence"]),
    lastSequence: integer(row["last_sequence"]),
    changedSequence: integer(row["changed_sequence"]),
    changedAt: instant(row["changed_at"]),
  };
}

/** Reads a state. */
export function readState(value: Row[string] | undefined): JobState {
  const state = STATES.get(text(value));
  if (state === undefined) throw new TypeError(`Cannot read a row: there is no state ${value}`);
  return state;
}

/** Reads a job's documents. */
export function readDocuments(row: Row): JobDocuments {
  return {
    payload: JSON.parse(text(row["payload"])),
    ...(row["result"] !== null && { result: JSON.parse(text(row["result"])) }),
    ...(row["logs"] !== null && { logs: JSON.parse(text(row["logs"])) }),
    droppedLogs: integer(row["dropped_logs"]),
  };
}
