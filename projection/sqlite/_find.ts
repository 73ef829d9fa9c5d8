/** Single jobs and small searches. */

import { TERMINAL_STATES } from "../../protocol/mod.ts";
import { type KeyMatch, type KeyQuery, MAX_LIMIT, type OldestPending } from "../job_query.ts";
import { type JobDocuments, type JobRow, joinJob, type ProjectedJob } from "../job_row.ts";
import type { EndedBefore } from "../store.ts";
import { instant, text } from "./_columns.ts";
import type { Database, Row } from "./_database.ts";
import { countsOf, LAST_PLACE, readRows, walk } from "./_list.ts";
import { readDocuments, readRow } from "./_row_codec.ts";

const UNFINISHED = ["pending", "active", "retry"] as const;

/** The statements of this file whose plans the tests look at. */
export const FIND_STATEMENTS = {
  rows: `SELECT job.* FROM json_each(?1) AS wanted
    CROSS JOIN jobs_projection AS job ON job.id = wanted.value`,
  documents: `SELECT job.id, document.* FROM json_each(?1) AS wanted
    CROSS JOIN jobs_projection AS job ON job.id = wanted.value
    CROSS JOIN job_documents AS document ON document.first_sequence = job.first_sequence`,
  job: `SELECT job.*, document.* FROM jobs_projection AS job
    CROSS JOIN job_documents AS document ON document.first_sequence = job.first_sequence
    WHERE job.id = ?1`,
  due: `SELECT * FROM jobs_projection WHERE deadline_at <= ?1 AND deadline_at IS NOT NULL
    AND state IN ('pending', 'active', 'retry') ORDER BY deadline_at LIMIT ?2`,
  oldestPending: `SELECT id, changed_at FROM jobs_projection
    WHERE service = ?1 AND type = ?2 AND state = 'pending' ORDER BY changed_sequence LIMIT 1`,
  nextKeyHash: `SELECT min(key_hash) AS key_hash FROM jobs_projection
    WHERE service = ?1 AND type = ?2 AND key = ?3 AND key IS NOT NULL AND key_hash > ?4`,
  keyHolder: `SELECT * FROM jobs_projection
    WHERE service = ?1 AND type = ?2 AND key_hash = ?3 AND key_hash IS NOT NULL LIMIT 1`,
  keyJobs: `SELECT * FROM jobs_projection
    WHERE service = ?1 AND type = ?2 AND key_hash = ?3 AND key_hash IS NOT NULL
    AND state IN ('pending', 'active', 'retry') ORDER BY first_sequence LIMIT ?4`,
} as const;

/** Gives one whole job. */
export function findJob(db: Database, id: string): ProjectedJob | undefined {
  const row = db.get(FIND_STATEMENTS.job, id);
  return row === undefined ? undefined : joinJob(readRow(row), readDocuments(row));
}

/** Gives rows in the order asked for. */
export function findRows(db: Database, ids: readonly string[]): (JobRow | null)[] {
  return inOrder(ids, db.all(FIND_STATEMENTS.rows, JSON.stringify(ids)), readRow);
}

/** Gives documents in the order asked for. */
export function findDocuments(db: Database, ids: readonly string[]): (JobDocuments | null)[] {
  return inOrder(ids, db.all(FIND_STATEMENTS.documents, JSON.stringify(ids)), readDocuments);
}

/** Gives unfinished jobs whose deadline has passed. */
export function findDue(db: Database, deadline: string, limit: number): JobRow[] {
  return db.all(FIND_STATEMENTS.due, Date.parse(deadline), limit).map(readRow);
}

/** Gives unfinished jobs, the oldest change first. */
export function findUnfinished(db: Database, afterSequence: number, limit: number): JobRow[] {
  return db.reading(() => {
    const filter = { state: UNFINISHED };
    const queues = countsOf(db, filter);
    const all = { low: afterSequence + 1, high: LAST_PLACE, skip: 0 };
    const window = walk(db, filter, queues, "ASC", all, limit);
    return readRows(db, "ASC", queues, window, {}, limit);
  });
}

/** Gives finished jobs that may go, one state after the other. */
export function findEnded(db: Database, before: EndedBefore, limit: number): JobRow[] {
  return db.reading(() => {
    const found: JobRow[] = [];
    for (const state of TERMINAL_STATES) {
      const until = before[state];
      const need = limit - found.length;
      if (until === undefined || need <= 0) continue;
      const filter = { state: [state] };
      const queues = countsOf(db, filter);
      const window = walk(db, filter, queues, "ASC", { low: 0, high: LAST_PLACE, skip: 0 }, need);
      found.push(...readRows(db, "ASC", queues, window, { toMs: Date.parse(until) }, need));
    }
    return found;
  });
}

/** Gives the job of each queue that has waited longest. */
export function findOldestPending(db: Database): OldestPending[] {
  return db.reading(() =>
    countsOf(db, { state: ["pending"] }).flatMap(({ service, type }) => {
      const row = db.get(FIND_STATEMENTS.oldestPending, service, type);
      return row === undefined
        ? []
        : [{ service, type, id: text(row["id"]), pendingSince: instant(row["changed_at"]) }];
    })
  );
}

/** Finds keys by what people call them, or by hash. */
export function findKeyMatches(db: Database, query: KeyQuery): KeyMatch[] {
  if ((query.key === undefined) === (query.keyHash === undefined)) {
    throw new RangeError("Cannot find a key: give exactly one of key and keyHash");
  }
  return db.reading(() =>
    keyHashes(db, query).flatMap((keyHash) => {
      const { service, type } = query;
      const holder = db.get(FIND_STATEMENTS.keyHolder, service, type, keyHash);
      if (holder === undefined) return [];
      const jobs = db.all(FIND_STATEMENTS.keyJobs, service, type, keyHash, MAX_LIMIT);
      // The text of the key is read from JSON: a column can lose what comes after a NUL.
      const key = readRow(holder).summary.concurrency?.key ?? "";
      return [{ key, keyHash, unfinished: jobs.map(readRow) }];
    })
  );
}

/** One step of the index per hash, however many jobs share it. */
function keyHashes(db: Database, { service, type, key, keyHash }: KeyQuery): string[] {
  if (keyHash !== undefined) return [keyHash];
  const hashes: string[] = [];
  for (let last = "";;) {
    const found = db.get(FIND_STATEMENTS.nextKeyHash, service, type, key ?? "", last)?.["key_hash"];
    if (typeof found !== "string" || hashes.length >= MAX_LIMIT) return hashes;
    hashes.push(last = found);
  }
}

function inOrder<T>(
  ids: readonly string[],
  rows: readonly Row[],
  read: (row: Row) => T,
): (T | null)[] {
  const found = new Map(rows.map((row) => [text(row["id"]), row]));
  return ids.map((id) => {
    const row = found.get(id);
    return row === undefined ? null : read(row);
  });
}
