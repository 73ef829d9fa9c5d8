/**
 * Telling that this process works on a queue: at start, every 30 s, and once more at the end.
 *
 * @module
 */

import type { Connection } from "../nats/mod.ts";
import {
  encodeHeartbeat,
  type PolicyCounters,
  presenceSubject,
  type QueueAddress,
  type WorkerHeartbeat,
} from "../protocol/mod.ts";

/** What a heartbeat says beside the time. */
export interface PresenceOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The queue. */
  readonly queue: QueueAddress;
  /** This process. */
  readonly instanceId: string;
  /** Jobs it runs at once. */
  readonly concurrency: number;
  /** The service's own version. */
  readonly version: string | undefined;
  /** What the queue's policy did that left no event; nothing in an unkeyed queue. */
  readonly counters?: () => PolicyCounters;
  /** The present instant. */
  readonly clock: () => number;
}

/** Presence under way. */
export interface Presence {
  /** Says goodbye and stops. */
  stop(): void;
}

const EVERY_MS = 30_000;

/** Begins to tell. Nobody waits for these and nothing depends on them: a lost one is not repeated. */
export function startPresence(options: PresenceOptions): Presence {
  const tell = (stopping: boolean) => {
    const heartbeat: WorkerHeartbeat = {
      ...options.queue,
      instanceId: options.instanceId,
      concurrency: options.concurrency,
      timestamp: new Date(options.clock()).toISOString(),
      ...(options.version !== undefined && { version: options.version }),
      ...(stopping && { stopping: true }),
      ...(options.counters !== undefined && { counters: options.counters() }),
    };
    const encoded = encodeHeartbeat(heartbeat);
    if (encoded.ok && !options.connection.isClosed()) {
      options.connection.publish(presenceSubject(heartbeat), encoded.value);
    }
  };
  tell(false);
  const timer = setInterval(() => tell(false), EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      tell(true);
    },
  };
}
