/**
 * One step of the projection: read the rows of a batch, fold, write rows and position together.
 *
 * @module
 */

import { foldBatch, type KeptLog, type StoredEvent } from "./fold_batch.ts";
import type { JobRow } from "./job_row.ts";
import type { CommitOutcome, NextPosition, ProjectionReader, ProjectionWriter } from "./store.ts";

/** What is projected in one step. */
export interface EventBatch {
  /** The events, in the order of the stream. */
  readonly events: readonly StoredEvent[];
  /** The position after them. */
  readonly position: NextPosition;
  /** Messages among them that were no events, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
}

/** What a step depends on. */
export interface BatchOptions {
  /** The revision that the store has: what was read before it is worth nothing. */
  readonly revision: number;
  /** How many log lines are kept per job; {@linkcode KEPT_LOG_LINES} when left out. */
  readonly keepLogs?: number;
  /** The present instant. */
  readonly now: number;
}

/** How many log lines of a job are kept unless it is said otherwise. */
export const KEPT_LOG_LINES = 200;

/** Projects a batch, or finds that another writer came first. */
export async function projectBatch(
  store: ProjectionReader & ProjectionWriter,
  { events, position, skipped }: EventBatch,
  { revision, keepLogs = KEPT_LOG_LINES, now }: BatchOptions,
): Promise<CommitOutcome> {
  const rows = await readRows(store, events);
  const logs = await readLogs(store, events, rows);
  const folded = foldBatch({ events, rows, logs, keepLogs, now });
  return await store.commit({
    expectedRevision: revision,
    position,
    jobs: folded.jobs,
    statistics: folded.statistics,
    skipped: { ...skipped, ...folded.skipped },
  });
}

async function readRows(
  store: ProjectionWriter,
  events: readonly StoredEvent[],
): Promise<Map<string, JobRow>> {
  const ids = new Set(events.map(({ event }) => event.jobId));
  const rows = ids.size === 0 ? [] : await store.readRows([...ids]);
  return new Map(rows.flatMap((row) => row === null ? [] : [[row.summary.id, row] as const]));
}

/** Only a `logged` event looks at the log that is there. */
async function readLogs(
  store: ProjectionReader,
  events: readonly StoredEvent[],
  rows: ReadonlyMap<string, JobRow>,
): Promise<Map<string, KeptLog>> {
  const ids = new Set<string>();
  for (const { event } of events) {
    if (event.eventType === "logged" && rows.has(event.jobId)) ids.add(event.jobId);
  }
  const logs = new Map<string, KeptLog>();
  if (ids.size === 0) return logs;
  const documents = await store.readDocuments([...ids]);
  [...ids].forEach((id, index) => {
    const found = documents[index];
    logs.set(id, { lines: found?.logs ?? [], dropped: found?.droppedLogs ?? 0 });
  });
  return logs;
}
