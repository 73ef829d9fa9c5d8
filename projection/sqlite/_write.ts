/** Writing steps of the projection. */

import type { JobChange, JobRow } from "../job_row.ts";
import type {
  CommitOutcome,
  NextPosition,
  ProjectionChange,
  ProjectionPosition,
  RowToForget,
} from "../store.ts";
import { encodeDocument, integer, text } from "./_columns.ts";
import type { Database } from "./_database.ts";
import { FIXED_COUNT, ROW_COLUMNS, rowValues, sameSearches, STEP_END } from "./_row_codec.ts";
import { JOB_TABLES } from "./_schema.ts";
import { addStatistics } from "./_statistics.ts";
import { blockOf, createCountTally } from "./_tally.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `?${index + 1}`);

const INSERT_ROW = `INSERT INTO jobs_projection (${ROW_COLUMNS.join(", ")})
  VALUES (${numbered(ROW_COLUMNS.length).join(", ")})`;
const updateOf = (end: number) =>
  `UPDATE jobs_projection
  SET ${
    ROW_COLUMNS.slice(FIXED_COUNT, end).map((column, index) => `${column} = ?${index + 2}`).join(
      ", ",
    )
  } WHERE first_sequence = ?1`;
const UPDATE_ROW = updateOf(ROW_COLUMNS.length);
const UPDATE_STEP = updateOf(STEP_END);
const INSERT_DOCUMENTS =
  `INSERT INTO job_documents (first_sequence, payload, result, logs, dropped_logs)
  VALUES (?1, ?2, ?3, ?4, ?5)`;
const DROP_DOCUMENTS = `UPDATE job_documents
  SET result = NULL, logs = NULL, dropped_logs = 0 WHERE first_sequence = ?1`;
const SET_PAYLOAD = "UPDATE job_documents SET payload = ?2 WHERE first_sequence = ?1";
const SET_RESULT = "UPDATE job_documents SET result = ?2 WHERE first_sequence = ?1";
const SET_LOGS = "UPDATE job_documents SET logs = ?2, dropped_logs = ?3 WHERE first_sequence = ?1";
const BLOCK_BEGINS = "INSERT OR IGNORE INTO job_block_times (block, begins_at) VALUES (?1, ?2)";
const GET_POSITION = "SELECT value FROM projection_metadata WHERE name = 'position'";
const SET_POSITION = `INSERT INTO projection_metadata (name, value) VALUES ('position', ?1)
  ON CONFLICT DO UPDATE SET value = excluded.value`;

/** Reads how far the projection is. */
export function readPosition(db: Database): ProjectionPosition {
  const found = db.get(GET_POSITION);
  return found === undefined
    ? { sequence: 0, skipped: {}, revision: 0 }
    : JSON.parse(text(found["value"]));
}

/** Stores one step, or finds that another writer came first. */
export function commitChange(db: Database, change: ProjectionChange): CommitOutcome {
  return db.writing(() => {
    const { revision, skipped } = readPosition(db);
    if (revision !== change.expectedRevision) return { kind: "conflict" };
    const tally = createCountTally(db);
    for (const job of change.jobs) {
      writeJob(db, job);
      if (job.before !== undefined) tally.add(job.before.summary, job.before.changedSequence, -1);
      tally.add(job.row.summary, job.row.changedSequence, 1);
    }
    tally.write();
    writeBlockTimes(db, change.jobs);
    addStatistics(db, change.statistics);
    return writePosition(
      db,
      { ...change.position, skipped: added(skipped, change.skipped) },
      revision,
    );
  });
}

/** Empties everything that comes from the stream of events. */
export function resetProjection(
  db: Database,
  expectedRevision: number,
  position: NextPosition,
): CommitOutcome {
  return db.writing(() => {
    const { revision } = readPosition(db);
    if (revision !== expectedRevision) return { kind: "conflict" };
    for (const table of JOB_TABLES) db.run(`DELETE FROM ${table}`);
    return writePosition(db, { ...position, skipped: {} }, revision);
  });
}

/** Removes rows that are still as they were seen. */
export function forgetRows(db: Database, rows: readonly RowToForget[]): string[] {
  return db.writing(() => {
    const tally = createCountTally(db);
    const gone: string[] = [];
    for (const { id, lastSequence } of rows) {
      const row = db.get(
        `DELETE FROM jobs_projection WHERE id = ?1 AND last_sequence = ?2
          RETURNING first_sequence, service, type, state, changed_sequence`,
        id,
        lastSequence,
      );
      if (row === undefined) continue;
      gone.push(id);
      db.run("DELETE FROM job_documents WHERE first_sequence = ?1", integer(row["first_sequence"]));
      const queue = {
        service: text(row["service"]),
        type: text(row["type"]),
        state: text(row["state"]),
      };
      tally.add(queue, integer(row["changed_sequence"]), -1);
    }
    tally.write();
    const { revision, ...position } = readPosition(db);
    if (gone.length > 0) writePosition(db, position, revision);
    return gone;
  });
}

function writeRow(db: Database, before: JobRow | undefined, row: JobRow): void {
  const values = rowValues(row);
  if (before === undefined) return db.run(INSERT_ROW, ...values);
  const same = sameSearches(before, row);
  const changed = values.slice(FIXED_COUNT, same ? STEP_END : values.length);
  db.run(same ? UPDATE_STEP : UPDATE_ROW, row.firstSequence, ...changed);
}

function writeJob(db: Database, { before, row, documents }: JobChange): void {
  writeRow(db, before, row);
  const { firstSequence } = row;
  const { drop, payload, result, logs } = documents;
  if (before === undefined) {
    db.run(
      INSERT_DOCUMENTS,
      firstSequence,
      encodeDocument(payload),
      result === undefined ? null : encodeDocument(result),
      logs === undefined ? null : encodeDocument(logs.lines),
      logs?.dropped ?? 0,
    );
    return;
  }
  if (drop === true) db.run(DROP_DOCUMENTS, firstSequence);
  if (payload !== undefined) db.run(SET_PAYLOAD, firstSequence, encodeDocument(payload));
  if (result !== undefined) db.run(SET_RESULT, firstSequence, encodeDocument(result));
  if (logs !== undefined) {
    db.run(SET_LOGS, firstSequence, encodeDocument(logs.lines), logs.dropped);
  }
}

/** The earliest change of a block is the first that is written: changes come in the stream's order. */
function writeBlockTimes(db: Database, jobs: readonly JobChange[]): void {
  const begins = new Map<number, number>();
  for (const { row } of jobs) {
    const block = blockOf(row.changedSequence);
    const at = Date.parse(row.changedAt);
    begins.set(block, Math.min(begins.get(block) ?? Infinity, at));
  }
  for (const [block, at] of begins) db.run(BLOCK_BEGINS, block, at);
}

function writePosition(
  db: Database,
  position: Omit<ProjectionPosition, "revision">,
  revision: number,
): CommitOutcome {
  const next = { ...position, revision: revision + 1 };
  db.run(SET_POSITION, JSON.stringify(next));
  return { kind: "stored", position: next };
}

function added(
  counts: Readonly<Record<string, number>>,
  more: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum = { ...counts };
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
