/**
 * Events as they are stored, through reconnects: what breaks is opened again behind the last event.
 *
 * @module
 */

import {
  type Connection,
  openReading,
  readStreamState,
  type StreamMessage,
  wholeMessage,
} from "../../nats/mod.ts";
import { pause } from "../../projection/supervise.ts";
import {
  decodeEvent,
  jobFilter,
  JOBS_STREAM,
  queueFilter,
  serviceFilter,
} from "../../protocol/mod.ts";
import type { SequencedEventAnswer } from "../messages/jobs.ts";
import type { WatchOptions } from "../ports.ts";

const ANSWER_MS = 5_000;
const BATCH = 100;
/** How many events wait here for a listener that is slow. */
const BUFFER = 256;
const AGAIN_MS = 250;

/** Gives events from a place on until the signal is aborted. */
export async function* watchStream(
  connection: Connection,
  { signal, fromSequence, ...which }: WatchOptions,
  inboxPrefix?: string,
): AsyncGenerator<SequencedEventAnswer, void, undefined> {
  const filter = filterOf(which);
  let from = fromSequence;
  while (!signal.aborted && !connection.isClosed()) {
    try {
      from ??= (await readStreamState(connection, JOBS_STREAM, patience())).lastSequence + 1;
      using reading = await openReading(connection, {
        read: wholeMessage,
        stream: JOBS_STREAM,
        from,
        buffer: BUFFER,
        ...(filter !== undefined && { filter }),
        ...(inboxPrefix !== undefined && { inboxPrefix }),
      });
      const end = () => reading.end("nobody listens");
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) return;
      for (;;) {
        for (const message of await reading.take(BATCH)) {
          from = message.sequence + 1;
          const event = readEvent(message);
          if (event !== undefined) yield event;
        }
      }
    } catch {
      // Whatever broke, the next reading begins behind the last event.
      await pause(AGAIN_MS, signal);
    }
  }
}

function filterOf({ job, service, type }: Omit<WatchOptions, "signal" | "fromSequence">) {
  if (job !== undefined) return jobFilter(job);
  if (service === undefined) return undefined;
  return type === undefined ? serviceFilter(service) : queueFilter({ service, jobType: type });
}

function readEvent(
  { subject, data, headers, sequence, storedNs }: StreamMessage,
): SequencedEventAnswer | undefined {
  const decoded = decodeEvent(subject, data, headers);
  if (!decoded.ok) return undefined;
  const storedAt = new Date(Number(storedNs.slice(0, -6))).toISOString();
  return { sequence, storedAt, event: decoded.value };
}

function patience(): { giveUpAt: number } {
  return { giveUpAt: Date.now() + ANSWER_MS };
}
