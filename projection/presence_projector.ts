/**
 * The projector of worker presence. Nothing depends on it but what people see, and the stream holds
 * one message per worker: it reads them all at every start, and needs no place to remember.
 *
 * @module
 */

import {
  type Connection,
  errorMessage,
  openReading,
  type StreamMessage,
  type StreamReading,
} from "../nats/mod.ts";
import { decodeHeartbeat, PRESENCE_FILTER, WORKERS_STREAM } from "../protocol/mod.ts";
import type { WorkerPresence } from "./presence_row.ts";
import type { ProjectionWriter } from "./store.ts";
import { type LoopHealth, type RunContext, supervise } from "./supervise.ts";

/** What it works with. */
export interface PresenceProjectorOptions {
  /** The connection; it stays the caller's to close. */
  readonly connection: Connection;
  /** Where workers go; it stays the caller's to close. */
  readonly store: Pick<ProjectionWriter, "savePresence">;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** The present instant; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Told what happens, in words. */
  readonly onNote?: (note: string) => void;
}

/** How it is doing. */
export interface PresenceHealth extends LoopHealth {
  /** Messages that were no heartbeats, since it was started. */
  readonly skipped: number;
}

/** A projector of presence under way. */
export interface PresenceProjector extends AsyncDisposable {
  /** Tells how it is doing. */
  health(): PresenceHealth;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** Workers not seen for so long are forgotten; the stream forgets them then too. */
const FORGET_MS = 24 * 3_600_000;
const BATCH = 500;

/** Starts it; it tries until there is a server. */
export function startPresenceProjector(options: PresenceProjectorOptions): PresenceProjector {
  const { connection, store, inboxPrefix, clock = Date.now, onNote = () => {} } = options;
  const prefix = inboxPrefix === undefined ? {} : { inboxPrefix };
  let skipped = 0;
  let reading: StreamReading<WorkerPresence | undefined> | undefined;
  const run = async ({ signal, progressed }: RunContext): Promise<void> => {
    using opened = await openReading(connection, {
      stream: WORKERS_STREAM,
      filter: PRESENCE_FILTER,
      from: "last-per-subject",
      read: readWorker,
      ...prefix,
    });
    reading = opened;
    if (signal.aborted) return;
    progressed();
    for (;;) {
      const messages = await opened.take(BATCH);
      const seen = messages.filter((worker) => worker !== undefined);
      skipped += messages.length - seen.length;
      await store.savePresence(seen, new Date(clock() - FORGET_MS).toISOString());
    }
  };
  const loop = supervise({
    ...options,
    run,
    onFailure: (error) => onNote(`the presence projector failed: ${errorMessage(error)}`),
  });
  const stop = async (): Promise<void> => {
    const stopped = loop.stop();
    reading?.end("it is stopped");
    await stopped;
  };
  return {
    health: () => ({ ...loop.health(), skipped }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function readWorker(message: StreamMessage): WorkerPresence | undefined {
  const decoded = decodeHeartbeat(message.subject, message.data, message.headers);
  if (!decoded.ok) return undefined;
  const seenAt = new Date(Number(message.storedNs.slice(0, -6))).toISOString();
  return { heartbeat: decoded.value, seenAt };
}
