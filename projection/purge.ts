/**
 * Removing jobs that nobody wants any more, from the stream and then from the rows.
 *
 * The stream first: a crash between the two leaves a row whose job is purged again next time. The
 * other way round, a rebuild would bring the job back. What is purged from the stream cannot be
 * rebuilt.
 *
 * @module
 */

import { type Connection, purgeSubject, readLastPlace } from "../nats/mod.ts";
import { addressOf, jobFilter, JOBS_STREAM } from "../protocol/mod.ts";
import type { JobRow } from "./job_row.ts";
import { endedBefore, type RetentionPolicy } from "./retention.ts";
import type { ProjectionStore } from "./store.ts";
import { pause } from "./supervise.ts";

/** What a purge works with. */
export interface PurgeOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The rows. */
  readonly store: ProjectionStore;
  /** What may go. */
  readonly policy: RetentionPolicy;
  /** The present instant. */
  readonly now: number;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** How many jobs may go per second; 50. Each purge stops the stream for a moment. */
  readonly perSecond?: number;
  /** How many jobs may go in all; no limit when left out. */
  readonly most?: number;
}

/** What a purge did. */
export interface PurgeReport {
  /** Jobs that are gone. */
  readonly purged: number;
  /** Jobs that were left, because something newer is known of them. */
  readonly left: number;
}

const PAGE = 50;
const PER_SECOND = 50;
const ANSWER_MS = 10_000;

/** Removes finished jobs that are older than the policy keeps them, gently. */
export async function purgeEnded(options: PurgeOptions): Promise<PurgeReport> {
  const { connection, store, policy, now, signal, perSecond = PER_SECOND, most = Infinity } =
    options;
  const before = endedBefore(policy, now);
  let [purged, left] = [0, 0];
  while (!signal.aborted && purged < most) {
    const rows = await store.listEnded(before, Math.min(PAGE, most - purged));
    let gone = 0;
    for (const row of rows) {
      if (signal.aborted) break;
      const begunAt = Date.now();
      if (await purgeJob(connection, store, row)) gone++;
      await pause(1_000 / perSecond - (Date.now() - begunAt), signal);
    }
    purged += gone;
    left = rows.length - gone;
    // Those that are left come back in every page until their newer event is projected.
    if (rows.length < PAGE || gone === 0) break;
  }
  return { purged, left };
}

/**
 * Removes one finished job as it was seen. `false` when the stream knows something newer: then it
 * stays, until the projection knows it too. An operator who retries the job in the instant between
 * that look and the purge loses its history; whoever retries a job does not let it grow that old.
 */
export async function purgeJob(
  connection: Connection,
  store: Pick<ProjectionStore, "forgetJobs">,
  { summary, lastSequence }: JobRow,
): Promise<boolean> {
  const filter = jobFilter(addressOf(summary));
  const options = { giveUpAt: Date.now() + ANSWER_MS };
  const newest = await readLastPlace(connection, JOBS_STREAM, filter, options);
  if (newest > lastSequence) return false;
  if (newest > 0) await purgeSubject(connection, JOBS_STREAM, filter, lastSequence + 1, options);
  const gone = await store.forgetJobs([{ id: summary.id, lastSequence }]);
  return gone.length > 0;
}
