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
  type BatchOptions,
  type EventBatch,
  KEPT_LOG_LINES,
  projectBatch,
} from "./project_batch.ts";
export {
  foldBatch,
  type FoldInput,
  type FoldOutput,
  type KeptLog,
  type StoredEvent,
} from "./fold_batch.ts";
export {
  checkQuery,
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
export {
  addHappenings,
  type Durations,
  type Happenings,
  type Resolution,
  type StatisticsDelta,
  type StatisticsQuery,
  type StatisticsSpan,
} from "./statistics.ts";
export type {
  CommitOutcome,
  EndedBefore,
  NextPosition,
  ProjectionChange,
  ProjectionPosition,
  ProjectionReader,
  ProjectionStore,
  ProjectionWriter,
  RowToForget,
} from "./store.ts";
export { addDurations, durationQuantileMs, durationSize, NO_DURATIONS } from "./durations.ts";
export {
  DEFAULT_RETENTION,
  endedBefore,
  resolveRetention,
  type RetentionPolicy,
} from "./retention.ts";
export { judgePosition, type PositionVerdict, type StreamFacts } from "./judge_position.ts";
export { readBatch, type ReadMessage, readMessage } from "./read_batch.ts";
export {
  type LoopHealth,
  type RunContext,
  supervise,
  type Supervised,
  type SuperviseOptions,
} from "./supervise.ts";
export { type Projector, type ProjectorOptions, startProjector } from "./projector.ts";
export type { ProjectorHealth } from "./projector_standing.ts";
export {
  type HistoryEntry,
  type HistoryOptions,
  type HistoryPage,
  readHistory,
} from "./job_history.ts";
export {
  type PresenceHealth,
  type PresenceProjector,
  type PresenceProjectorOptions,
  startPresenceProjector,
} from "./presence_projector.ts";
export { purgeEnded, purgeJob, type PurgeOptions, type PurgeReport } from "./purge.ts";
export {
  type Retention,
  type RetentionHealth,
  type RetentionOptions,
  startRetention,
} from "./retention_loop.ts";
