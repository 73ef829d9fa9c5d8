/**
 * The projector: reads the stream and keeps the rows equal to the fold of its events.
 *
 * The place in the stream is written in the same step as the rows, so every event counts exactly
 * once, whatever dies when. A run goes on where the store stands; whatever breaks ends the run, and
 * the next one looks again where it stands.
 *
 * @module
 */

import {
  type Connection,
  errorMessage,
  openReading,
  ReadingEnded,
  readStreamState,
  type StreamReading,
  type StreamState,
} from "../nats/mod.ts";
import { JOBS_STREAM } from "../protocol/mod.ts";
import { passOver, patience, projectMessages, settlePosition } from "./_projector_steps.ts";
import { type ReadMessage, readMessage } from "./read_batch.ts";
import { createStanding, type ProjectorHealth } from "./projector_standing.ts";
import type { ProjectionStore } from "./store.ts";
import { type RunContext, supervise } from "./supervise.ts";
import { createHoleSweeper } from "./sweep_holes.ts";

/** What a projector works with. */
export interface ProjectorOptions {
  /** The connection; it stays the caller's to close. */
  readonly connection: Connection;
  /** Where the rows go; it stays the caller's to close. */
  readonly store: ProjectionStore;
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** How many log lines are kept per job; 200. */
  readonly keepLogs?: number;
  /** How many messages are written in one step at most; 4000. */
  readonly batch?: number;
  /** The present instant; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Told what happens, in words: rebuilds and failures. */
  readonly onNote?: (note: string) => void;
}

/** A projector under way. */
export interface Projector extends AsyncDisposable {
  /** Tells how it is doing. */
  health(): ProjectorHealth;
  /** Resolves with `true` when a place is in the rows, with `false` when that takes too long. */
  waitFor(sequence: number, timeoutMs: number): Promise<boolean>;
  /** Empties the rows and reads the stream from its beginning; resolves when that has begun. */
  rebuild(reason: string): Promise<void>;
  /** Ends it, and resolves when the step under way is written. */
  stop(): Promise<void>;
}

const BATCH = 4_000;

/**
 * Starts a projector. It needs no answer from the server to start: it tries until there is one.
 *
 * @example
 * ```ts ignore
 * import { connectNats } from "@trellis/jobs";
 * import { startProjector } from "@trellis/jobs/projection";
 * import { openSqliteStore } from "@trellis/jobs/projection/sqlite";
 *
 * await using connection = await connectNats();
 * await using store = openSqliteStore({ path: "/var/lib/trellis/jobs.sqlite" });
 * await using projector = startProjector({ connection, store });
 * await projector.waitFor(41, 5_000);
 * ```
 */
export function startProjector(options: ProjectorOptions): Projector {
  const { connection: nc, store, inboxPrefix, onNote = () => {} } = options;
  const standing = createStanding(createHoleSweeper(nc, store, onNote));
  let reading: StreamReading<ReadMessage> | undefined;
  let asked: { readonly reason: string; readonly begun: PromiseWithResolvers<void> } | undefined;

  const settle = async (stream: StreamState): Promise<void> => {
    const { position, rebuild } = await settlePosition(nc, store, stream, asked?.reason);
    if (rebuild !== undefined) {
      onNote(`rebuilding the projection: ${rebuild}`);
      standing.beginAnew(rebuild);
      asked?.begun.resolve();
      asked = undefined;
    }
    standing.arrive(position, stream.lastSequence - position.sequence);
  };
  const run = async ({ signal, progressed }: RunContext): Promise<void> => {
    const stream = await readStreamState(nc, JOBS_STREAM, patience());
    await settle(stream);
    const prefix = inboxPrefix === undefined ? {} : { inboxPrefix };
    const from = standing.position().sequence + 1;
    const read = { stream: JOBS_STREAM, from, read: readMessage };
    using opened = await openReading(nc, { ...read, ...prefix });
    reading = opened;
    if (signal.aborted || asked !== undefined) return;
    if (opened.pendingAtStart === 0) {
      standing.arrive(await passOver(store, standing.position(), stream.lastSequence), 0);
    }
    progressed();
    for (;;) {
      const messages = await opened.take(options.batch ?? BATCH);
      const position = await projectMessages(options, standing.position(), messages);
      standing.arrive(position, messages.at(-1)?.pending ?? 0);
    }
  };
  const loop = supervise({
    ...options,
    run: (context) =>
      run(context).catch((error: unknown) => {
        const byUs = context.signal.aborted || asked !== undefined;
        if (!byUs || !(error instanceof ReadingEnded)) throw error;
      }),
    onFailure: (error) => onNote(`the projector failed: ${errorMessage(error)}`),
  });
  const stop = async (): Promise<void> => {
    const stopped = loop.stop();
    reading?.end("it is stopped");
    asked?.begun.reject(new Error("Cannot rebuild: the projector is stopped"));
    await Promise.all([stopped, standing.stop()]);
  };
  return {
    health: () => standing.health(loop.health()),
    waitFor: standing.waitFor,
    rebuild(reason) {
      asked ??= { reason, begun: Promise.withResolvers() };
      reading?.end("a rebuild was asked for");
      return asked.begun.promise;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
