/** Rows ⇄ columns. */

import type { SQLInputValue } from "node:sqlite";
import { JOB_STATES, type JobState } from "../../protocol/mod.ts";
import type { JobDocuments, JobRow, JobSummary } from "../job_row.ts";
import { instant, integer, text } from "./_columns.ts";
import type { Row } from "./_database.ts";

/** What of a summary has no column of its own. */
type Rest = Omit<
  JobSummary,
  | "id"
  | "service"
  | "type"
  | "state"
  | "createdAt"
  | "updatedAt"
  | "startedAt"
  | "completedAt"
  | "deadline"
  | "tries"
  | "maxTries"
>;

const STATES: ReadonlyMap<string, JobState> = new Map(JOB_STATES.map((state) => [state, state]));

/** Columns that never change. */
const FIXED_COLUMNS = ["first_sequence", "id", "service", "type", "created_at"] as const;
/** Columns that every step of a job changes. */
const STEP_COLUMNS = [
  "state",
  "changed_sequence",
  "changed_at",
  "last_sequence",
  "updated_at",
  "started_at",
  "completed_at",
  "tries",
  "max_tries",
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
  const { id, service, type, state, createdAt, updatedAt, startedAt, completedAt, ...more } =
    row.summary;
  const { deadline, tries, maxTries, ...rest } = more;
  return [
    row.firstSequence,
    id,
    service,
    type,
    createdAt,
    state,
    row.changedSequence,
    Date.parse(row.changedAt),
    row.lastSequence,
    updatedAt,
    startedAt ?? null,
    completedAt ?? null,
    tries,
    maxTries,
    JSON.stringify(rest),
    deadline === undefined ? null : Date.parse(deadline),
    rest.concurrency?.key ?? null,
    rest.concurrency?.keyHash ?? null,
  ];
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
      createdAt: text(row["created_at"]),
      updatedAt: text(row["updated_at"]),
      ...(row["started_at"] !== null && { startedAt: text(row["started_at"]) }),
      ...(row["completed_at"] !== null && { completedAt: text(row["completed_at"]) }),
      ...(row["deadline_at"] !== null && { deadline: instant(row["deadline_at"]) }),
      tries: integer(row["tries"]),
      maxTries: integer(row["max_tries"]),
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
