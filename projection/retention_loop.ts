/**
 * Retention as a loop: now and then, remove what is older than the policy keeps it.
 *
 * @module
 */

import { type Connection, errorMessage } from "../nats/mod.ts";
import { KEPT_MS } from "./measure.ts";
import { purgeEnded } from "./purge.ts";
import type { RetentionPolicy } from "./retention.ts";
import type { ProjectionStore } from "./store.ts";
import { type LoopHealth, pause, supervise } from "./supervise.ts";

/** What the loop works with. */
export interface RetentionOptions {
  /** The connection; it stays the caller's to close. */
  readonly connection: Connection;
  /** The rows; they stay the caller's to close. */
  readonly store: ProjectionStore;
  /** What is kept; {@linkcode resolveRetention} makes one. */
  readonly policy: RetentionPolicy;
  /** Whether the projection has caught up: an old server is slow to purge while somebody lags. */
  readonly isLive: () => boolean;
  /** How long between two looks; a minute. */
  readonly everyMs?: number;
  /** How many jobs may go per second; 50. */
  readonly perSecond?: number;
  /** The present instant; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Told what happens, in words. */
  readonly onNote?: (note: string) => void;
}

/** How retention is doing. */
export interface RetentionHealth extends LoopHealth {
  /** Jobs removed since it was started. */
  readonly purged: number;
}

/** Retention under way. */
export interface Retention extends AsyncDisposable {
  /** Tells how it is doing. */
  health(): RetentionHealth;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

const EVERY_MS = 60_000;
/** At most so many at once; then it looks again whether it may. */
const MOST = 1_000;

/** Starts retention. One process at a time should do this: it belongs to the owner. */
export function startRetention(options: RetentionOptions): Retention {
  const { store, isLive, everyMs = EVERY_MS, clock = Date.now, onNote = () => {} } = options;
  let purged = 0;
  const loop = supervise({
    ...options,
    onFailure: (error) => onNote(`retention failed: ${errorMessage(error)}`),
    async run({ signal, progressed }) {
      const now = clock();
      if (isLive()) {
        const report = await purgeEnded({ ...options, now, signal, most: MOST });
        purged += report.purged;
        if (report.purged > 0) onNote(`removed ${report.purged} finished jobs`);
        await store.trimStatistics({
          minute: keptFrom("minute", now),
          hour: keptFrom("hour", now),
        });
        progressed();
        if (report.purged === MOST) return;
      }
      await pause(everyMs, signal);
    },
  });
  return {
    health: () => ({ ...loop.health(), purged }),
    stop: loop.stop,
    [Symbol.asyncDispose]: loop.stop,
  };
}

function keptFrom(resolution: "minute" | "hour", now: number): string {
  return new Date(now - KEPT_MS[resolution]).toISOString();
}
