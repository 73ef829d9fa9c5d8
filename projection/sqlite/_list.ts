/** Lists: ranges of one index, cut to the blocks of the stream that hold the page. */

import type { JobState } from "../../protocol/mod.ts";
import {
  checkQuery,
  checkSince,
  type JobFilter,
  type JobPage,
  type JobQuery,
  type QueueCount,
} from "../job_query.ts";
import type { JobRow } from "../job_row.ts";
import { integer, text } from "./_columns.ts";
import type { Database } from "./_database.ts";
import { readRow, readState } from "./_row_codec.ts";
import { ALL, BLOCK } from "./_schema.ts";
import { blockOf } from "./_tally.ts";

/** Which part of the stream's order is looked at. */
export interface Window {
  /** From this place, included. */
  readonly low: number;
  /** To this place, included. */
  readonly high: number;
  /** How many rows of it to pass over. */
  readonly skip: number;
}

/** Beyond any place that a stream gives out and a number can hold. */
export const LAST_PLACE: number = Number.MAX_SAFE_INTEGER;

/** Rows of some queues and states inside a window; the queues come as JSON, each its own range. */
const rangesOf = (columns: string) =>
  `SELECT ${columns} FROM json_each(?1) AS queue
  CROSS JOIN jobs_projection AS job INDEXED BY jobs_by_queue
  ON job.service = queue.value ->> 0 AND job.type = queue.value ->> 1
  AND job.state = queue.value ->> 2 AND job.changed_sequence BETWEEN ?2 AND ?3
  AND job.changed_at BETWEEN ?4 AND ?5`;

const pageOf = (order: "ASC" | "DESC") =>
  `SELECT found.* FROM (
    ${rangesOf("job.first_sequence AS place, job.changed_sequence AS position")}
    ORDER BY position ${order} LIMIT ?6 OFFSET ?7
  ) AS page CROSS JOIN jobs_projection AS found ON found.first_sequence = page.place
  ORDER BY page.position ${order}`;

/** The statements that pages are read with: the tests look at their plans. */
export const LIST_STATEMENTS = {
  newestFirst: pageOf("DESC"),
  oldestFirst: pageOf("ASC"),
  count: rangesOf("count(*) AS count"),
  walkDown: walkOf("DESC"),
  walkUp: walkOf("ASC"),
  sum: `SELECT coalesce(sum(count), 0) AS count FROM job_blocks WHERE service = ?1 AND type = ?2
    AND block > ?3 AND state IN (SELECT value FROM json_each(?4))`,
  blockAt: "SELECT max(block) AS block FROM job_block_times WHERE begins_at < ?1",
} as const;

function walkOf(order: "ASC" | "DESC"): string {
  return `SELECT block, sum(count) AS count FROM job_blocks
    WHERE service = ?1 AND type = ?2 AND block BETWEEN ?3 AND ?4
    AND state IN (SELECT value FROM json_each(?5)) GROUP BY block ORDER BY block ${order}`;
}

/** Gives the counts of queues that a filter lets through. */
export function countsOf(db: Database, filter: JobFilter): QueueCount[] {
  const { service, type, state } = filter;
  return db.all("SELECT service, type, state, count FROM job_counts").map((row) => ({
    service: text(row["service"]),
    type: text(row["type"]),
    state: readState(row["state"]),
    count: integer(row["count"]),
  })).filter((queue) =>
    (service ?? queue.service) === queue.service && (type ?? queue.type) === queue.type &&
    (state === undefined || state.includes(queue.state))
  );
}

/** Gives a page, newest change first. */
export function listPage(db: Database, query: JobQuery): JobPage {
  checkQuery(query);
  return db.reading(() => {
    const queues = countsOf(db, query);
    const since = sinceOf(db, query);
    const high = query.cursor === undefined ? LAST_PLACE : Number(query.cursor) - 1;
    // One more than asked for tells whether there is a next page.
    const window = walk(db, query, queues, "DESC", {
      low: since.block * BLOCK,
      high,
      skip: query.offset ?? 0,
    }, query.limit + 1);
    const rows = readRows(db, "DESC", queues, window, { fromMs: since.fromMs }, query.limit + 1);
    const entries = rows.slice(0, query.limit);
    const last = entries.at(-1);
    return {
      entries,
      count: countWith(db, query, queues, since),
      ...(rows.length > query.limit && last !== undefined &&
        { nextCursor: String(last.changedSequence) }),
    };
  });
}

/** Counts the rows that a filter lets through. */
export function countRows(db: Database, filter: JobFilter): number {
  checkSince(filter.since);
  return db.reading(() => countWith(db, filter, countsOf(db, filter), sinceOf(db, filter)));
}

/**
 * Cuts a window down to the blocks that hold a page: whole blocks are passed over by their counts,
 * and it ends where the page is sure to be full.
 */
export function walk(
  db: Database,
  filter: JobFilter,
  queues: readonly QueueCount[],
  order: "ASC" | "DESC",
  { low, high, skip }: Window,
  need: number,
): Window {
  const states = JSON.stringify(statesOf(queues));
  const sql = order === "DESC" ? LIST_STATEMENTS.walkDown : LIST_STATEMENTS.walkUp;
  const [first, last] = [blockOf(low), blockOf(high)];
  const blocks = db.iterate(sql, filter.service ?? ALL, filter.type ?? ALL, first, last, states);
  let [from, to, left, have] = [low, high, skip, 0];
  for (const row of blocks) {
    const [block, count] = [integer(row["block"]), integer(row["count"])];
    const begins = block * BLOCK;
    const ends = begins + BLOCK - 1;
    // Of a block at the rim nobody knows how many rows are inside the window.
    const whole = begins >= low && ends <= high;
    if (have === 0 && whole && count <= left) {
      left -= count;
      if (order === "DESC") to = begins - 1;
      else from = ends + 1;
      continue;
    }
    if (whole) have += count;
    if (have < left + need) continue;
    if (order === "DESC") from = begins;
    else to = ends;
    break;
  }
  return { low: from, high: to, skip: left };
}

/** Reads the rows of a window, between two instants of their last change. */
export function readRows(
  db: Database,
  order: "ASC" | "DESC",
  queues: readonly QueueCount[],
  { low, high, skip }: Window,
  { fromMs = 0, toMs = LAST_PLACE }: { fromMs?: number; toMs?: number },
  limit: number,
): JobRow[] {
  const sql = order === "DESC" ? LIST_STATEMENTS.newestFirst : LIST_STATEMENTS.oldestFirst;
  return db.all(sql, rangesJson(queues), low, high, fromMs, toMs, limit, skip).map(readRow);
}

interface Since {
  /** The lowest block that can hold what changed since. */
  readonly block: number;
  /** The instant; 0 without one. */
  readonly fromMs: number;
}

/** Changes are stored in the order of their instants, so older blocks hold nothing newer. */
function sinceOf(db: Database, { since }: JobFilter): Since {
  if (since === undefined) return { block: 0, fromMs: 0 };
  const fromMs = Date.parse(since);
  const found = db.get(LIST_STATEMENTS.blockAt, fromMs)?.["block"] ?? null;
  return { block: found === null ? 0 : integer(found), fromMs };
}

function countWith(
  db: Database,
  filter: JobFilter,
  queues: readonly QueueCount[],
  { block, fromMs }: Since,
): number {
  if (filter.since === undefined) return queues.reduce((sum, { count }) => sum + count, 0);
  const states = JSON.stringify(statesOf(queues));
  const above = db.get(
    LIST_STATEMENTS.sum,
    filter.service ?? ALL,
    filter.type ?? ALL,
    block,
    states,
  );
  const low = block * BLOCK;
  const rim = db.get(
    LIST_STATEMENTS.count,
    rangesJson(queues),
    low,
    low + BLOCK - 1,
    fromMs,
    LAST_PLACE,
  );
  return integer(above?.["count"]) + integer(rim?.["count"]);
}

function rangesJson(queues: readonly QueueCount[]): string {
  return JSON.stringify(queues.map(({ service, type, state }) => [service, type, state]));
}

function statesOf(queues: readonly QueueCount[]): JobState[] {
  return [...new Set(queues.map(({ state }) => state))];
}
