/**
 * The port of the projection: what a database must do to stand behind it.
 *
 * Arguments and answers are plain JSON and every call is a promise, so that a store can be reached
 * over HTTP from where there is no file system. `storeConformance()` says whether a store is one.
 *
 * @module
 */

import type { TerminalState } from "../protocol/mod.ts";
import type {
  JobFilter,
  JobPage,
  JobQuery,
  KeyMatch,
  KeyQuery,
  OldestPending,
  QueueCount,
} from "./job_query.ts";
import type { JobChange, JobDocuments, JobRow, ProjectedJob } from "./job_row.ts";
import type { WorkerPresence, WorkerQuery } from "./presence_row.ts";
import type { StatisticsDelta, StatisticsQuery, StatisticsSpan } from "./statistics.ts";

/** How far the projection is, and of which stream. */
export interface ProjectionPosition {
  /** Identity of the stream (when it was created); left out before the first write. */
  readonly stream?: string;
  /** Everything up to this place is in the rows; 0 before the first event. */
  readonly sequence: number;
  /** When the server stored the event at that place, in nanoseconds as a decimal text. */
  readonly sequenceTime?: string;
  /** The latest instant at which an event up to there was stored. */
  readonly storedAt?: string;
  /** Place at which a rebuild will be complete; left out when none is under way. */
  readonly rebuildTo?: number;
  /** Place before which messages were deleted unseen: unfinished jobs up to it are to be checked. */
  readonly holesAt?: number;
  /** Messages that were no events of ours, since the last rebuild, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Grows with every write: what the next write expects. */
  readonly revision: number;
}

/** A position to be written: skipped messages and the revision are the store's own to count. */
export type NextPosition = Omit<ProjectionPosition, "skipped" | "revision">;

/** One step of the projection: all of it is stored, or nothing. */
export interface ProjectionChange {
  /** The revision that the step was decided on. */
  readonly expectedRevision: number;
  /** The position after it. */
  readonly position: NextPosition;
  /** Rows that are new or changed. */
  readonly jobs: readonly JobChange[];
  /** What is added to the series. */
  readonly statistics: readonly StatisticsDelta[];
  /** What is added to the counts of skipped messages. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** What became of a write. */
export type CommitOutcome =
  /** It is stored; the next write expects the revision of this position. */
  | { readonly kind: "stored"; readonly position: ProjectionPosition }
  /** Somebody else wrote first: read the position again. */
  | { readonly kind: "conflict" };

/** A row that may go, if it is still as it was seen. */
export interface RowToForget {
  /** The job. */
  readonly id: string;
  /** The `lastSequence` that its row must still have. */
  readonly lastSequence: number;
}

/** Which finished jobs: by state, those that ended at or before an instant. */
export type EndedBefore = Readonly<Partial<Record<TerminalState, string>>>;

/** What is asked of a projection; nothing here changes it. */
export interface ProjectionReader {
  /** Tells how far the projection is. */
  position(): Promise<ProjectionPosition>;
  /** Gives one whole job. */
  getJob(id: string): Promise<ProjectedJob | undefined>;
  /** Gives a page of rows; throws `RangeError` for a limit, an offset or a cursor that cannot be. */
  listJobs(query: JobQuery): Promise<JobPage>;
  /** Counts the rows that match. */
  countJobs(filter: JobFilter): Promise<number>;
  /** Gives the documents of jobs, in the order asked for; `null` where there is no such job. */
  readDocuments(ids: readonly string[]): Promise<readonly (JobDocuments | null)[]>;
  /** Gives the count of jobs per queue and state, without those that are 0. */
  countQueues(): Promise<readonly QueueCount[]>;
  /** Gives, per queue, the job that has waited longest for its first try. */
  oldestPending(): Promise<readonly OldestPending[]>;
  /** Gives unfinished jobs whose deadline is at or before an instant, the earliest first. */
  listDue(deadline: string, limit: number): Promise<readonly JobRow[]>;
  /** Gives unfinished jobs that changed last after a place in the stream, the oldest change first. */
  listUnfinished(afterSequence: number, limit: number): Promise<readonly JobRow[]>;
  /** Gives finished jobs that ended at or before the instant given for their state, by the server's clock. */
  listEnded(before: EndedBefore, limit: number): Promise<readonly JobRow[]>;
  /** Finds keys, by display key (all hashes that share it) or by hash. */
  findKeys(query: KeyQuery): Promise<readonly KeyMatch[]>;
  /** Gives workers by service, queue and instance. */
  listWorkers(query: WorkerQuery): Promise<readonly WorkerPresence[]>;
  /** Gives a series over time, oldest span first. */
  readStatistics(query: StatisticsQuery): Promise<readonly StatisticsSpan[]>;
}

/** What the projector and retention need beyond reading. */
export interface ProjectionWriter {
  /** Gives the rows of jobs, in the order asked for; `null` where there is none. */
  readRows(ids: readonly string[]): Promise<readonly (JobRow | null)[]>;
  /** Stores one step, rows and position together. */
  commit(change: ProjectionChange): Promise<CommitOutcome>;
  /** Empties the projection of jobs; `position` is where it begins again. Presence stays. */
  reset(expectedRevision: number, position: NextPosition): Promise<CommitOutcome>;
  /** Removes rows that are still as they were seen; gives the ids of those removed. */
  forgetJobs(rows: readonly RowToForget[]): Promise<readonly string[]>;
  /** Removes spans of the series that began before the instant given for their resolution. */
  trimStatistics(before: { readonly minute: string; readonly hour: string }): Promise<void>;
  /** Keeps heartbeats that are newer than what is known, and drops workers not seen since. */
  savePresence(seen: readonly WorkerPresence[], forgetBefore: string): Promise<void>;
}

/** A projection's database. */
export interface ProjectionStore extends ProjectionReader, ProjectionWriter, AsyncDisposable {}
