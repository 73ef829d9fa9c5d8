/**
 * The projection: events of the stream become rows that can be listed, counted and searched.
 *
 * The rows are derived and disposable: the stream is the truth, and a lost or foreign database is
 * rebuilt from it. Nothing here needs a file system; the SQLite store is an entry of its own.
 *
 * @module
 */

export {
  type DocumentChange,
  type JobChange,
  type JobDocuments,
  type JobRow,
  type JobSummary,
  joinJob,
  type ProjectedJob,
} from "./job_row.ts";
export {
  type JobFilter,
  type JobPage,
  type JobQuery,
  type KeyMatch,
  type KeyQuery,
  MAX_LIMIT,
  MAX_OFFSET,
  type OldestPending,
  type QueueCount,
} from "./job_query.ts";
export { isLive, WORKER_FRESH_MS, type WorkerPresence, type WorkerQuery } from "./presence_row.ts";
export type {
  Durations,
  Resolution,
  StatisticsDelta,
  StatisticsQuery,
  StatisticsSpan,
} from "./statistics.ts";
export type {
  CommitOutcome,
  EndedBefore,
  ProjectionChange,
  ProjectionPosition,
  ProjectionReader,
  ProjectionStore,
  ProjectionWriter,
  RowToForget,
} from "./store.ts";
