/**
 * Sweeping what buckets keep for nobody: idempotency records whose window is over, and the markers
 * of entries that were deleted.
 *
 * @module
 */

import { type Connection, openReading, purgeSubject, wholeMessage } from "../../nats/mod.ts";
import { pause } from "../../projection/supervise.ts";
import {
  bucketStream,
  bucketSubject,
  idempotencyRecordKey,
  KEYS_BUCKET,
  META_BUCKET,
} from "../../protocol/mod.ts";
import { type AdminLoop, startLoop } from "./loop.ts";

/** What the loop works with. */
export interface SweepOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** How long between two rounds; an hour. */
  readonly everyMs?: number;
  /** How long a marker stays; a day, far longer than anybody needs to see a deletion. */
  readonly markerMs?: number;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

const EVERY_MS = 3_600_000;
const MARKER_MS = 24 * 3_600_000;
const BATCH = 200;
const GENTLE_MS = 5;
const ANSWER_MS = 10_000;
const ANY_QUEUE = { service: "*", jobType: "*" };

/** Starts the loop. */
export function startSweeper(options: SweepOptions): AdminLoop {
  const { clock, markerMs = MARKER_MS } = options;
  return startLoop({
    name: "the sweeper",
    everyMs: options.everyMs ?? EVERY_MS,
    onNote: options.onNote,
    async look(signal, tally) {
      const records = await sweep(options, META_BUCKET, idempotencyRecordKey(ANY_QUEUE, "*"), {
        signal,
        isOver: ({ data, ageMs }) =>
          data.length === 0 ? ageMs > markerMs : isExpiredRecord(data, clock()),
      });
      tally.add("idempotency-records", records);
      const markers = await sweep(options, KEYS_BUCKET, ">", {
        signal,
        isOver: ({ data, ageMs }) => data.length === 0 && ageMs > markerMs,
      });
      tally.add("key-markers", markers);
    },
  });
}

/** Tells whether an idempotency record's window is over; what cannot be read stays. */
export function isExpiredRecord(data: Uint8Array, now: number): boolean {
  try {
    const record: unknown = JSON.parse(new TextDecoder().decode(data));
    return typeof record === "object" && record !== null && "expiresAt" in record &&
      Date.parse(String(record.expiresAt)) <= now;
  } catch {
    return false;
  }
}

interface Entry {
  readonly data: Uint8Array;
  readonly ageMs: number;
}

async function sweep(
  { connection, inboxPrefix, clock }: SweepOptions,
  bucket: string,
  keys: string,
  { signal, isOver }: { signal: AbortSignal; isOver: (entry: Entry) => boolean },
): Promise<number> {
  const stream = bucketStream(bucket);
  using reading = await openReading(connection, {
    read: wholeMessage,
    stream,
    filter: bucketSubject(bucket, keys),
    from: "last-per-subject",
    ...(inboxPrefix !== undefined && { inboxPrefix }),
  });
  let swept = 0;
  for (let left = reading.pendingAtStart; left > 0 && !signal.aborted;) {
    const messages = await reading.take(Math.min(left, BATCH));
    left -= messages.length;
    for (const { subject, data, sequence, storedNs } of messages) {
      const ageMs = clock() - Number(storedNs.slice(0, -6));
      if (signal.aborted || !isOver({ data, ageMs })) continue;
      // Only up to the message that was seen: an entry that was written since stays.
      const giveUpAt = Date.now() + ANSWER_MS;
      swept += await purgeSubject(connection, stream, subject, sequence + 1, { giveUpAt });
      await pause(GENTLE_MS, signal);
    }
  }
  return swept;
}
