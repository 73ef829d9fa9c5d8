/**
 * A job's events, read back from the stream: the stream is the truth, and the rows need no copy.
 *
 * @module
 */

import { type Connection, readNext } from "../nats/mod.ts";
import { addressOf, decodeEvent, type JobEvent, jobFilter, JOBS_STREAM } from "../protocol/mod.ts";
import type { JobRow } from "./job_row.ts";

/** An event of a job at its place. */
export interface HistoryEntry {
  /** Place in the stream. */
  readonly sequence: number;
  /** When the stream took it. */
  readonly storedAt: string;
  /** The event. */
  readonly event: JobEvent;
}

/** Part of a job's history, oldest event first. */
export interface HistoryPage {
  /** The events; messages that are none are left out. */
  readonly entries: readonly HistoryEntry[];
  /** Where the next part begins; left out when there is none. */
  readonly nextSequence?: number;
}

/** Which part. */
export interface HistoryOptions {
  /** From this place on; from the beginning when left out. */
  readonly fromSequence?: number;
  /** The most events; 500. */
  readonly limit?: number;
  /** How long the server may take in all; 10 s. */
  readonly timeoutMs?: number;
}

/**
 * Reads a job's history up to what its row knows. It can be shorter than the job's life: what was
 * purged from the stream is gone. Throws when the server does not answer in time.
 */
export async function readHistory(
  connection: Connection,
  row: Pick<JobRow, "summary" | "firstSequence" | "lastSequence">,
  { fromSequence = 0, limit = 500, timeoutMs = 10_000 }: HistoryOptions = {},
): Promise<HistoryPage> {
  const filter = jobFilter(addressOf(row.summary));
  const entries: HistoryEntry[] = [];
  const giveUpAt = Date.now() + timeoutMs;
  // The row says where the history ends: without that, the last read would search the whole stream.
  for (let from = Math.max(fromSequence, row.firstSequence); from <= row.lastSequence;) {
    if (entries.length >= limit) return { entries, nextSequence: from };
    const stored = await readNext(connection, JOBS_STREAM, filter, from, { giveUpAt });
    if (stored === undefined) break;
    const decoded = stored.forged ? undefined : decodeEvent(stored.subject, stored.data);
    if (decoded?.ok === true) {
      entries.push({ sequence: stored.sequence, storedAt: stored.storedAt, event: decoded.value });
    }
    from = stored.sequence + 1;
  }
  return { entries };
}
