/**
 * Waiting for one's turn: woken by the key's own change, and by the clock.
 *
 * What is heard on a core subscription is a hint to read: writes that the bucket refused are heard
 * too, and a message can be missed. So nothing is believed but what is read, and it is read again
 * every few seconds in any case.
 *
 * @module
 */

import { type Connection, onReconnect } from "../nats/mod.ts";
import { bucketSubject, KEYS_BUCKET, keyStateKey, ok, type Result } from "../protocol/mod.ts";
import type { Acquired, Acquisition, Keys } from "./coordinator.ts";
import type { KeyError } from "./key_error.ts";

/** What waiting ended with. */
export type TurnOutcome =
  | Exclude<Acquired, { readonly kind: "wait" }>
  /** The caller no longer waits. */
  | { readonly kind: "aborted" };

/** The jobs of one process that wait for their keys. */
export interface Turns extends Disposable {
  /**
   * Resolves when the job has its slot, or never will; fails only with what time does not heal. Told
   * of every wait when it begins, so that the caller can put the job aside.
   */
  take(
    acquisition: Acquisition,
    options: { readonly signal: AbortSignal; readonly onWait?: () => void },
  ): Promise<Result<TurnOutcome, KeyError>>;
  /** How many wait, by key. */
  waiting(): ReadonlyMap<string, number>;
}

/** What waiting needs. */
export interface TurnsOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The keys of the queue. */
  readonly keys: Keys;
  /** The present instant. */
  readonly clock?: () => number;
  /** Chance, from 0 to 1. */
  readonly random?: () => number;
  /** Told when the subscription has trouble. */
  readonly onTrouble?: (why: string) => void;
}

/** A key is read again after so long in any case: a change may not have been heard. */
export const REREAD_MS = 5_000;
/** What waits for the same instant in many processes is spread over so long. */
const SPREAD_MS = 100;

/** Opens the waiting jobs of a process. */
export function openTurns(options: TurnsOptions): Turns {
  const { connection, keys, clock = Date.now, random = Math.random } = options;
  const waiters = new Map<string, Set<() => void>>();
  const wake = (keyHash: string) => {
    for (const woken of waiters.get(keyHash) ?? []) woken();
  };
  const wakeAll = () => {
    for (const keyHash of waiters.keys()) {
      keys.heard(keyHash);
      wake(keyHash);
    }
  };
  const filter = bucketSubject(KEYS_BUCKET, keyStateKey(keys.queue, "*"));
  const subscription = connection.subscribe(filter, {
    callback(error, message) {
      if (error !== null) return options.onTrouble?.(error.message);
      const keyHash = message.subject.slice(filter.length - 1);
      keys.heard(keyHash);
      wake(keyHash);
    },
  });
  // What was written while the connection was down was not heard.
  const stopWatching = onReconnect(connection, wakeAll);

  /** Joins the waiters of a key, before it is read: a change in between must not be missed. */
  const join = (keyHash: string) => {
    const joined = waiters.get(keyHash) ?? new Set();
    waiters.set(keyHash, joined);
    let heard = false;
    let resume = () => {};
    const woken = () => {
      heard = true;
      resume();
    };
    joined.add(woken);
    return {
      async wait(waitMs: number, signal: AbortSignal): Promise<void> {
        if (!heard && !signal.aborted) {
          signal.addEventListener("abort", woken, { once: true });
          let timer: ReturnType<typeof setTimeout> | undefined;
          await new Promise<void>((resolve) => {
            resume = resolve;
            timer = setTimeout(resolve, waitMs);
          });
          clearTimeout(timer);
          signal.removeEventListener("abort", woken);
        }
        heard = false;
      },
      leave() {
        joined.delete(woken);
        if (joined.size === 0) waiters.delete(keyHash);
      },
    };
  };

  return {
    async take(acquisition, { signal, onWait }) {
      const { key: { keyHash } } = acquisition;
      const seat = join(keyHash);
      try {
        while (!signal.aborted) {
          const decided = await keys.acquire(acquisition);
          if (!decided.ok && !decided.error.retryable) return decided;
          if (decided.ok && decided.value.kind !== "wait") {
            if (!signal.aborted || decided.value.kind !== "acquired") return ok(decided.value);
            await keys.handBack(acquisition.key, acquisition);
            break;
          }
          onWait?.();
          const until = decided.ok && decided.value.kind === "wait"
            ? decided.value.until
            : undefined;
          const waitMs = Math.min(REREAD_MS, (until ?? Infinity) - clock());
          await seat.wait(Math.max(waitMs, 0) + random() * SPREAD_MS, signal);
        }
        return ok({ kind: "aborted" });
      } finally {
        seat.leave();
      }
    },
    waiting: () => new Map([...waiters].map(([keyHash, { size }]) => [keyHash, size])),
    [Symbol.dispose]() {
      stopWatching();
      if (!connection.isClosed()) subscription.unsubscribe();
    },
  };
}
