/** Work that was delivered and is not begun: kept alive, and dropped once it is no longer ours. */

import type { Message } from "../nats/mod.ts";

/** Work that waits for a free hand, oldest first. */
export interface Buffer {
  /** How much waits. */
  readonly size: number;
  /** Takes work in. */
  push(message: Message): void;
  /** Gives the oldest work that is still ours. */
  shift(): Message | undefined;
  /** How long the oldest work has waited. */
  oldestAgeMs(): number;
  /** Shows the oldest work. */
  first(): Message | undefined;
  /** Tells that what waits is being kept alive now, and gives it; without what has lapsed. */
  keepAlive(): readonly Message[];
  /** Gives everything, oldest first; nothing waits any more. */
  takeAll(): readonly Message[];
}

/** Part of the acknowledgement wait after which the server may have given the work to another. */
const OURS = 0.9;

/**
 * Makes a buffer. Work that nobody kept alive for too long (a paused process, a lost connection)
 * has been delivered elsewhere by now: beginning it here would run it beside the other, so it is
 * dropped without a word, which the server no longer listens to anyway.
 */
export function createBuffer(ackWaitMs: number, clock: () => number): Buffer {
  let waiting: { readonly message: Message; readonly arrivedAt: number }[] = [];
  let keptAliveAt = 0;
  const isOurs = ({ arrivedAt }: { readonly arrivedAt: number }, now: number): boolean =>
    now - Math.max(arrivedAt, keptAliveAt) < OURS * ackWaitMs;
  return {
    get size() {
      return waiting.length;
    },
    push(message) {
      waiting.push({ message, arrivedAt: clock() });
    },
    shift() {
      const now = clock();
      for (;;) {
        const oldest = waiting.shift();
        if (oldest === undefined || isOurs(oldest, now)) return oldest?.message;
      }
    },
    oldestAgeMs: () => waiting[0] === undefined ? 0 : clock() - waiting[0].arrivedAt,
    first: () => waiting[0]?.message,
    keepAlive() {
      const now = clock();
      waiting = waiting.filter((held) => isOurs(held, now));
      keptAliveAt = now;
      return waiting.map(({ message }) => message);
    },
    takeAll() {
      const all = waiting.map(({ message }) => message);
      waiting = [];
      return all;
    },
  };
}
