/** A SQLite file, opened for one writer and many readers, with its statements kept ready. */

import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { prepareSchema } from "./_schema.ts";

/** One row as the database gives it. */
export type Row = Record<string, SQLOutputValue>;

/** The database. Everything is synchronous: what one function does, nothing interrupts. */
export interface Database {
  /** Runs a statement. */
  run(sql: string, ...values: SQLInputValue[]): void;
  /** Gives the first row. */
  get(sql: string, ...values: SQLInputValue[]): Row | undefined;
  /** Gives all rows. */
  all(sql: string, ...values: SQLInputValue[]): Row[];
  /** Gives rows one by one, as long as they are asked for. */
  iterate(sql: string, ...values: SQLInputValue[]): Iterable<Row>;
  /** Reads from one state of the database, also when another process writes meanwhile. */
  reading<T>(work: () => T): T;
  /** Writes all or nothing; what `work` throws, nothing of it stays. */
  writing<T>(work: () => T): T;
  /** Closes the file. */
  close(): void;
}

/**
 * Opens a file. NORMAL loses the newest transactions when the machine dies, never their order or
 * their wholeness: the place in the stream goes with the rows, and the stream has what is missing.
 */
export function openDatabase(path: string): Database {
  const db = openFile(path);
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = db.prepare(sql);
    statements.set(sql, statement);
    return statement;
  };
  const transaction = <T>(begin: string, work: () => T): T => {
    db.exec(begin);
    try {
      const value = work();
      db.exec("COMMIT");
      return value;
    } catch (error) {
      // A failed COMMIT may have rolled back by itself.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };
  return {
    run: (sql, ...values) => void prepared(sql).run(...values),
    get: (sql, ...values) => prepared(sql).get(...values),
    all: (sql, ...values) => prepared(sql).all(...values),
    iterate: (sql, ...values) => prepared(sql).iterate(...values),
    reading: (work) => transaction("BEGIN", work),
    writing: (work) => transaction("BEGIN IMMEDIATE", work),
    close: () => db.close(),
  };
}

function openFile(path: string): DatabaseSync {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path);
    db.exec(`
      PRAGMA busy_timeout = 5000;
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA wal_autocheckpoint = 4000;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -65536;
      PRAGMA mmap_size = 1073741824;
      PRAGMA temp_store = MEMORY;
    `);
    prepareSchema(db);
    return db;
  } catch (error) {
    db?.close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Cannot open the projection ${path}: ${reason}; give another path, or remove the file if it ` +
        `is a damaged projection: it is rebuilt from the stream`,
      { cause: error },
    );
  }
}
