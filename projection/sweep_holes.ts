/**
 * Looking after jobs whose end may have been deleted before it was read.
 *
 * Retention and operators delete whole jobs from the stream. A projector that was away meanwhile, or
 * a moment behind, keeps rows of jobs that are no more, and no event will ever end them.
 *
 * @module
 */

import { type Connection, errorMessage, readMessageTime } from "../nats/mod.ts";
import { JOBS_STREAM } from "../protocol/mod.ts";
import { patience } from "./_projector_steps.ts";
import type { JobRow } from "./job_row.ts";
import type { ProjectionStore } from "./store.ts";
import { pause } from "./supervise.ts";

/** How gently the stream is asked: old messages are expensive to touch. */
const PAGE = 50;
const PAGE_PAUSE_MS = 20;

/**
 * Removes the rows of unfinished jobs whose newest event is no longer in the stream, among those
 * that last changed up to a place. A job of which only some events were deleted keeps its row.
 */
export async function sweepHoles(
  nc: Connection,
  store: ProjectionStore,
  until: number,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (let after = 0; !signal.aborted;) {
    const page = await store.listUnfinished(after, PAGE);
    const rows = page.filter(({ changedSequence }) => changedSequence <= until);
    const gone = (await Promise.all(rows.map((row) => isGone(nc, row)))).flatMap((row) =>
      row ?? []
    );
    if (gone.length > 0) {
      const seen = gone.map(({ summary: { id }, lastSequence }) => ({ id, lastSequence }));
      removed += (await store.forgetJobs(seen)).length;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return removed;
    after = last.changedSequence;
    await pause(PAGE_PAUSE_MS, signal);
  }
  return removed;
}

async function isGone(nc: Connection, row: JobRow): Promise<JobRow | undefined> {
  const time = await readMessageTime(nc, JOBS_STREAM, row.lastSequence, patience());
  return time === undefined ? row : undefined;
}

/** Sweeps in the background, one at a time. */
export interface HoleSweeper {
  /** Up to here everything has been looked after. */
  readonly sweptTo: number;
  /** Begins, unless one is under way or there is nothing new to look after. */
  begin(until: number): void;
  /** Forgets how far it came: the rows are built anew. */
  beginAnew(): void;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Makes a sweeper; one that fails is begun again at the next occasion. */
export function createHoleSweeper(
  nc: Connection,
  store: ProjectionStore,
  onNote: (note: string) => void,
): HoleSweeper {
  const stopping = new AbortController();
  let sweptTo = 0;
  let builds = 0;
  let sweep: Promise<void> | undefined;
  const run = async (until: number): Promise<void> => {
    const build = builds;
    try {
      const removed = await sweepHoles(nc, store, until, stopping.signal);
      if (stopping.signal.aborted || build !== builds) return;
      sweptTo = until;
      if (removed > 0) onNote(`removed ${removed} jobs that were deleted from the stream unseen`);
    } catch (error) {
      onNote(`cannot look for jobs deleted from the stream: ${errorMessage(error)}`);
    } finally {
      sweep = undefined;
    }
  };
  return {
    get sweptTo() {
      return sweptTo;
    },
    begin(until) {
      if (until > sweptTo && !stopping.signal.aborted) sweep ??= run(until);
    },
    beginAnew() {
      builds++;
      sweptTo = 0;
    },
    async stop() {
      stopping.abort();
      await sweep;
    },
  };
}
