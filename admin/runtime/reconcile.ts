/**
 * The reconciler: unfinished jobs that have no work message get one again. It is slow on purpose:
 * such a job is a fault, and looking for one must not cost the others.
 *
 * @module
 */

import type { Lifecycle } from "../../jobs/mod.ts";
import { type Connection, readLast, readNext } from "../../nats/mod.ts";
import type { JobRow, ProjectionReader } from "../../projection/mod.ts";
import { pause } from "../../projection/supervise.ts";
import {
  addressOf,
  isTerminal,
  type JobAddress,
  JOBS_STREAM,
  lifecycleSubject,
  type QueueAddress,
  WORK_STREAM,
  workSubject,
} from "../../protocol/mod.ts";
import { readJob } from "./advisories.ts";
import { type AdminLoop, startLoop, type Tally } from "./loop.ts";

/** What the reconciler works with. */
export interface ReconcileOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The rows. */
  readonly store: Pick<ProjectionReader, "listUnfinished">;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** Whether new jobs reach the work stream: while they do not, a missing message says nothing. */
  readonly isSourcing: () => boolean;
  /** Whether the rows are up to date. */
  readonly isLive: () => boolean;
  /** How long between two rounds; 5 minutes. */
  readonly everyMs?: number;
  /** How old a job's last event must be; 5 minutes, well beyond the longest stall of the source. */
  readonly graceMs?: number;
  /** How many messages are read per second; 500. */
  readonly perSecond?: number;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

const EVERY_MS = 5 * 60_000;
const GRACE_MS = 5 * 60_000;
const PER_SECOND = 500;
/** So many are looked after in one round; the oldest first. */
const MOST = 2_000;
const PAGE = 200;
const ANSWER_MS = 10_000;

/** Starts the reconciler. */
export function startReconciler(options: ReconcileOptions): AdminLoop {
  return startLoop({
    name: "the reconciler",
    everyMs: options.everyMs ?? EVERY_MS,
    onNote: options.onNote,
    look: (signal, tally) => reconcileOnce(options, signal, tally),
  });
}

/** One round. */
async function reconcileOnce(
  options: ReconcileOptions,
  signal: AbortSignal,
  tally: Tally,
): Promise<void> {
  if (!options.isSourcing() || !options.isLive()) return;
  const suspects = await listSuspects(options);
  for (
    const [subject, rows] of Map.groupBy(suspects, ({ summary }) => workSubject(addressOf(summary)))
  ) {
    const missing = await withoutMessage(options, subject, rows, signal);
    tally.add("checked", rows.length);
    for (const row of missing) {
      if (signal.aborted || !options.isSourcing()) return;
      if (!await enqueueAgain(options, row)) continue;
      tally.add("enqueued-again");
      options.onNote(`job ${row.summary.id} had no work message and got one again`);
    }
  }
}

async function listSuspects(
  { store, clock, graceMs = GRACE_MS }: ReconcileOptions,
): Promise<JobRow[]> {
  const before = new Date(clock() - graceMs).toISOString();
  const suspects: JobRow[] = [];
  for (let after = 0; suspects.length < MOST;) {
    const page = await store.listUnfinished(after, PAGE);
    const old = page.filter(({ changedAt }) => changedAt <= before);
    suspects.push(...old);
    // The oldest change comes first: behind the first young one all are young.
    if (old.length < PAGE) return suspects;
    after = page.at(-1)?.changedSequence ?? after;
  }
  return suspects;
}

/** Reads a queue's work, oldest first, until every suspect is found or there is no more. */
async function withoutMessage(
  { connection, perSecond = PER_SECOND }: ReconcileOptions,
  subject: string,
  rows: readonly JobRow[],
  signal: AbortSignal,
): Promise<JobRow[]> {
  const missing = new Map(rows.map((row) => [row.summary.id, row]));
  for (let from = 1; missing.size > 0 && !signal.aborted;) {
    const begunAt = Date.now();
    const giveUpAt = begunAt + ANSWER_MS;
    const stored = await readNext(connection, WORK_STREAM, subject, from, { giveUpAt });
    if (stored === undefined) return [...missing.values()];
    from = stored.sequence + 1;
    missing.delete(readJob(stored)?.jobId ?? "");
    await pause(1_000 / perSecond - (Date.now() - begunAt), signal);
  }
  return [];
}

/**
 * Puts the event that made the work onto the work subject again, if the job still stands where its
 * row says. A job that moved meanwhile has, or had, its message.
 */
async function enqueueAgain(
  { connection, lifecycle }: ReconcileOptions,
  { summary, lastSequence }: JobRow,
): Promise<boolean> {
  const address = addressOf(summary);
  const snapshot = await lifecycle.read(address);
  if (snapshot === undefined || isTerminal(snapshot.job.state)) return false;
  if (snapshot.lastSequence !== lastSequence) return false;
  const origin = await readOrigin(connection, address);
  if (origin === undefined) return false;
  const queue: QueueAddress = address;
  return (await lifecycle.publisher.publish(workSubject(queue), origin)).kind === "stored";
}

/** The event that made the job's work: its last `retried`, else its `created`. */
async function readOrigin(
  connection: Connection,
  address: JobAddress,
): Promise<Uint8Array | undefined> {
  for (const eventType of ["retried", "created"] as const) {
    const giveUpAt = Date.now() + ANSWER_MS;
    const subject = lifecycleSubject(address, eventType);
    const stored = await readLast(connection, JOBS_STREAM, subject, { giveUpAt });
    if (stored !== undefined && !stored.forged) return stored.data;
  }
  return undefined;
}
