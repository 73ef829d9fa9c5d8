/** The tables. They are derived: another version of them is thrown away and built anew. */

import type { DatabaseSync } from "node:sqlite";

/** Grows with every change below; a file of another version is emptied when it is opened. */
const VERSION = 1;

/** Marks a file as ours ("TRLJ"): nobody else's tables are thrown away. */
const APPLICATION_ID = 0x54_52_4c_4a;

/**
 * How many places of the stream one block spans. Lists are in the order of the stream; counting
 * jobs per block finds any offset, and the count since any instant, without stepping over rows.
 */
export const BLOCK = 2_048;

/** Stands for every service or every type in sums. No name has this character. */
export const ALL = "*";

/**
 * What a query asks for is a column, and its instants are milliseconds since 1970; `rest` is what
 * is only shown, as JSON: `rest ->> 'createdAt'`.
 */
const TABLES = `
CREATE TABLE jobs_projection (
  first_sequence INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  service TEXT NOT NULL,
  type TEXT NOT NULL,
  state TEXT NOT NULL,
  changed_sequence INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  last_sequence INTEGER NOT NULL,
  deadline_at INTEGER,
  key TEXT,
  key_hash TEXT,
  rest TEXT NOT NULL
) STRICT;

-- Every list is ranges of this one: rows of a queue in a state, in the order of their last change.
CREATE INDEX jobs_by_queue
  ON jobs_projection (service, type, state, changed_sequence, changed_at);
CREATE INDEX jobs_by_deadline ON jobs_projection (deadline_at)
  WHERE deadline_at IS NOT NULL AND state IN ('pending', 'active', 'retry');
CREATE INDEX jobs_by_key ON jobs_projection (service, type, key, key_hash)
  WHERE key IS NOT NULL;
CREATE INDEX jobs_by_key_hash ON jobs_projection (service, type, key_hash, state)
  WHERE key_hash IS NOT NULL;

-- What can be large, apart from the row: a step of a job does not write its payload again.
CREATE TABLE job_documents (
  first_sequence INTEGER PRIMARY KEY,
  payload TEXT NOT NULL,
  result TEXT,
  logs TEXT,
  dropped_logs INTEGER NOT NULL
) STRICT;

CREATE TABLE job_counts (
  service TEXT NOT NULL,
  type TEXT NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (service, type, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_blocks (
  service TEXT NOT NULL,
  type TEXT NOT NULL,
  block INTEGER NOT NULL,
  state TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (service, type, block, state)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_block_times (block INTEGER PRIMARY KEY, begins_at INTEGER NOT NULL) STRICT;
CREATE INDEX job_blocks_by_time ON job_block_times (begins_at, block);

CREATE TABLE job_statistics (
  resolution TEXT NOT NULL,
  service TEXT NOT NULL,
  type TEXT NOT NULL,
  begins_at INTEGER NOT NULL,
  happenings TEXT NOT NULL,
  PRIMARY KEY (resolution, service, type, begins_at)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_presence_projection (
  service TEXT NOT NULL,
  type TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  heartbeat TEXT NOT NULL,
  PRIMARY KEY (service, type, instance_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE projection_metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
`;

/** Tables that a rebuild empties. */
export const JOB_TABLES: readonly string[] = [
  "jobs_projection",
  "job_documents",
  "job_counts",
  "job_blocks",
  "job_block_times",
  "job_statistics",
];

/** Makes the tables, or makes them anew when the file has those of another version. */
export function prepareSchema(db: DatabaseSync): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const tables = tableNames(db);
    if (tables.length > 0 && pragma(db, "application_id") !== APPLICATION_ID) {
      throw new Error("it holds another program's tables");
    }
    if (pragma(db, "user_version") !== VERSION) {
      for (const name of tables) db.exec(`DROP TABLE "${name}"`);
      db.exec(TABLES);
      db.exec(`PRAGMA user_version = ${VERSION}; PRAGMA application_id = ${APPLICATION_ID}`);
    }
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

function pragma(db: DatabaseSync, name: "application_id" | "user_version"): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function tableNames(db: DatabaseSync): string[] {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return tables.map((table) => String(table["name"])).filter((name) => !name.startsWith("sqlite_"));
}
