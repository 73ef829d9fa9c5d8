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
  /** Since when it is pending, by the server's clock. */
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

/**
 * Throws `RangeError` when a page cannot be asked for; every store begins with this.
 *
 * @example
 * ```ts
 * import { checkQuery } from "./job_query.ts";
 * import assert from "node:assert/strict";
 *
 * checkQuery({ limit: 50, offset: 100 });
 * assert.throws(() => checkQuery({ limit: 501 }), /Cannot list jobs: the limit is 501/);
 * ```
 */
export function checkQuery({ limit, offset = 0, cursor, since }: JobQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new RangeError(`Cannot list jobs: the limit is ${limit}, not from 1 to ${MAX_LIMIT}`);
  }
  if (!Number.isInteger(offset) || offset < 0 || offset > MAX_OFFSET) {
    throw new RangeError(
      `Cannot list jobs: the offset is ${offset}, not from 0 to ${MAX_OFFSET}; go deeper by cursor`,
    );
  }
  if (cursor !== undefined && (offset > 0 || !/^[0-9]{1,16}$/.test(cursor))) {
    throw new RangeError(
      `Cannot list jobs: the cursor ${
        JSON.stringify(cursor)
      } is not one that a page gave, or comes ` +
        `with the offset ${offset}`,
    );
  }
  checkSince(since);
}

/** Throws `RangeError` when `since` is no instant. */
export function checkSince(since: string | undefined): void {
  if (since !== undefined && Number.isNaN(Date.parse(since))) {
    throw new RangeError(`Cannot filter jobs: since is ${JSON.stringify(since)}, not an instant`);
  }
}
