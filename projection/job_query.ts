/**
 * What can be asked about projected jobs.
 *
 * @module
 */

import type { JobState } from "../protocol/mod.ts";
import type { JobRow } from "./job_row.ts";

/** Which jobs; every field narrows, none means all. */
export interface JobFilter {
  /** Jobs of this service. */
  readonly service?: string;
  /** Jobs of this type. */
  readonly type?: string;
  /** Jobs in one of these states; an empty list matches nothing. */
  readonly state?: readonly JobState[];
  /** Jobs that changed at or after this instant, by the server's clock. */
  readonly since?: string;
}

/** A page of a list: newest change first. */
export interface JobQuery extends JobFilter {
  /** The most rows of the page, from 1 to {@linkcode MAX_LIMIT}. */
  readonly limit: number;
  /** Rows to pass over, up to {@linkcode MAX_OFFSET}; deeper pages are reached by `cursor`. */
  readonly offset?: number;
  /** Where the page before ended: its `nextCursor`. Not together with `offset`. */
  readonly cursor?: string;
}

/** A page of rows. Live, not a snapshot: jobs that change meanwhile move to the front. */
export interface JobPage {
  /** The rows. */
  readonly entries: readonly JobRow[];
  /** How many rows match the filter in all. */
  readonly count: number;
  /** Where the next page begins; left out on the last one. */
  readonly nextCursor?: string;
}

/** The most rows that one page may have. */
export const MAX_LIMIT = 500;

/** The deepest page that is reached by counting; beyond it, by cursor. */
export const MAX_OFFSET = 100_000;

/** How many jobs of a queue are in a state. */
export interface QueueCount {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
  /** The state. */
  readonly state: JobState;
  /** Jobs in it; never 0. */
  readonly count: number;
}

/** The job of a queue that has waited longest for its first try. */
export interface OldestPending {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
  /** The job. */
  readonly id: string;
  /** Since when it is pending, by its own clock. */
  readonly pendingSince: string;
}

/** Which key: by what people call it, or by its hash. */
export interface KeyQuery {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly type: string;
  /** The display key; several hashes may share it. Exactly one of `key` and `keyHash`. */
  readonly key?: string;
  /** The hash. */
  readonly keyHash?: string;
}

/** A key that some projected job has. */
export interface KeyMatch {
  /** The display key. */
  readonly key: string;
  /** The hash: what coordination uses. */
  readonly keyHash: string;
  /** Its unfinished jobs in the order of creation, at most {@linkcode MAX_LIMIT}. */
  readonly unfinished: readonly JobRow[];
}
