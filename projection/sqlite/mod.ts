/**
 * The projection in a SQLite file, with the runtime's own `node:sqlite`.
 *
 * An entry of its own: where there is no file system, the rest of the projection still runs.
 *
 * @module
 */

import type { ProjectionStore } from "../store.ts";
import { openDatabase } from "./_database.ts";
import {
  findDocuments,
  findDue,
  findEnded,
  findJob,
  findKeyMatches,
  findOldestPending,
  findRows,
  findUnfinished,
} from "./_find.ts";
import { countRows, countsOf, listPage } from "./_list.ts";
import { listWorkers, saveWorkers } from "./_presence.ts";
import { readSeries, trimSeries } from "./_statistics.ts";
import { commitChange, forgetRows, readPosition, resetProjection } from "./_write.ts";

/** How a store is opened. */
export interface SqliteStoreOptions {
  /** The file, made when it is not there; `:memory:` is for tests. Its folder must exist. */
  readonly path: string;
}

/**
 * Opens the projection in a file. A file of another version of this library is emptied, and filled
 * again from the stream. Throws when the file cannot be opened, or is not a database.
 *
 * Several processes may open one file: all may read, and of several that write at once, one wins
 * each step and the others are told.
 *
 * @example
 * ```ts
 * import { openSqliteStore } from "./mod.ts";
 * import assert from "node:assert/strict";
 *
 * await using store = openSqliteStore({ path: ":memory:" });
 * assert.equal((await store.position()).sequence, 0);
 * assert.deepEqual(await store.listJobs({ limit: 50 }), { entries: [], count: 0 });
 * ```
 */
export function openSqliteStore({ path }: SqliteStoreOptions): ProjectionStore {
  const db = openDatabase(path);
  let open = true;
  return {
    position: () => promised(() => readPosition(db)),
    getJob: (id) => promised(() => findJob(db, id)),
    listJobs: (query) => promised(() => listPage(db, query)),
    countJobs: (filter) => promised(() => countRows(db, filter)),
    readDocuments: (ids) => promised(() => findDocuments(db, ids)),
    countQueues: () => promised(() => countsOf(db, {})),
    oldestPending: () => promised(() => findOldestPending(db)),
    listDue: (deadline, limit) => promised(() => findDue(db, deadline, limit)),
    listUnfinished: (after, limit) => promised(() => findUnfinished(db, after, limit)),
    listEnded: (before, limit) => promised(() => findEnded(db, before, limit)),
    findKeys: (query) => promised(() => findKeyMatches(db, query)),
    listWorkers: (query) => promised(() => listWorkers(db, query)),
    readStatistics: (query) => promised(() => readSeries(db, query)),
    readRows: (ids) => promised(() => findRows(db, ids)),
    commit: (change) => promised(() => commitChange(db, change)),
    reset: (revision, position) => promised(() => resetProjection(db, revision, position)),
    forgetJobs: (rows) => promised(() => forgetRows(db, rows)),
    trimStatistics: (before) => promised(() => trimSeries(db, before)),
    savePresence: (seen, forgetBefore) => promised(() => saveWorkers(db, seen, forgetBefore)),
    [Symbol.asyncDispose]: () =>
      promised(() => {
        if (open) db.close();
        open = false;
      }),
  };
}

/** What throws becomes a rejection: the port is asynchronous, SQLite is not. */
function promised<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}
