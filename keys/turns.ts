/**
 * Waiting for one's turn: woken by the key's own change, and by the clock.
 *
 * What is heard on a core subscription is a hint to read: writes that the bucket refused are heard
 * too, a write is heard before it is stored, and a message can be missed. So nothing is believed but
 * what is read; after a hint it is read more than once, and every few seconds in any case.
 *
 * @module
 */

import { type Connection, onReconnect } from "../nats/mod.ts";
import { bucketSubject, KEYS_BUCKET, keyStateKey, ok, type Result } from "../protocol/mod.ts";
import { createSeats, type WaitingSeat } from "./_seats.ts";
import type { Acquired, Acquisition, Keys } from "./coordinator.ts";
import type { KeyError } from "./key_error.ts";

/** What waiting ended with. */
export type TurnOutcome =
  | Exclude<Acquired, { readonly kind: "wait" }>
  /** The caller no longer waits. */
  | { readonly kind: "aborted" };

/** How a job waits. */
export interface TakeOptions {
  /** Calls it away; it keeps its place in line, and a slot that it just got is handed back. */
  readonly signal: AbortSignal;
  /** Told each time that it must wait, so that the job can be put aside. */
  readonly onWait?: () => void;
  /** Resolves when the job could begin if it got its slot; asked before each look. */
  readonly ready?: () => Promise<void> | undefined;
}

/** The jobs of one process that wait for their keys. */
export interface Turns extends Disposable {
  /** Resolves when the job has its slot, or never will; fails only with what time does not heal. */
  take(acquisition: Acquisition, options: TakeOptions): Promise<Result<TurnOutcome, KeyError>>;
  /** How many wait, by hash of the key. */
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
/** What is heard is stored a moment later, or never; once a change has shown, the first are enough. */
const LOOK_AFTER_MS = [5, 20, 100, 500, 2_000];
const LOOKS_AFTER_A_CHANGE = 3;
/** What waits for the same instant in many processes is spread over so long. */
const SPREAD_MS = 100;
/**
 * So many look for a free slot at once beyond those that could all get one, and beyond those that wait
 * for a slot of their own.
 */
const FRONT = 8;

/** Opens the waiting jobs of a process. */
export function openTurns(options: TurnsOptions): Turns {
  const { connection, keys, clock = Date.now, random = Math.random } = options;
  const seats = createSeats(FRONT + 2 * keys.policy.maxActive);
  const spreadMs = random() * SPREAD_MS;
  const hear = (keyHash: string) => {
    keys.heard(keyHash);
    seats.wake(keyHash);
  };
  const filter = bucketSubject(KEYS_BUCKET, keyStateKey(keys.queue, "*"));
  const subscription = connection.subscribe(filter, {
    callback(error, message) {
      if (error !== null) return options.onTrouble?.(error.message);
      hear(message.subject.slice(filter.length - 1));
    },
  });
  // What was written while the connection was down was not heard.
  const stopWatching = onReconnect(connection, () => {
    for (const keyHash of seats.taken().keys()) hear(keyHash);
  });

  const untilDecided = async (
    acquisition: Acquisition,
    { signal, onWait, ready }: TakeOptions,
    seat: WaitingSeat,
  ): Promise<Result<TurnOutcome, KeyError>> => {
    let looks = LOOK_AFTER_MS.length;
    let lastRevision: number | undefined;
    while (!signal.aborted) {
      await ready?.();
      if (signal.aborted) break;
      const decided = await keys.acquire(acquisition);
      if (!decided.ok && !decided.error.retryable) return decided;
      let waitMs = REREAD_MS;
      if (decided.ok) {
        const { value } = decided;
        if (value.kind !== "wait") return ok(value);
        const changed = value.revision !== lastRevision;
        lastRevision = value.revision;
        const lookMs = LOOK_AFTER_MS[looks] ?? REREAD_MS;
        looks = changed && looks + 1 >= LOOKS_AFTER_A_CHANGE ? LOOK_AFTER_MS.length : looks + 1;
        waitMs = Math.min(lookMs, (value.until ?? Infinity) - clock() + spreadMs);
      }
      onWait?.();
      if (await seat.wait(Math.max(waitMs, 0), signal)) looks = 0;
    }
    return ok({ kind: "aborted" });
  };

  return {
    async take(acquisition, take) {
      // Ids grow with time, so their order is nearly that of the line.
      const seat = seats.take(acquisition.key.keyHash, acquisition.jobId);
      try {
        const outcome = await untilDecided(acquisition, take, seat);
        const tooLate = outcome.ok && outcome.value.kind === "acquired" && take.signal.aborted;
        if (!tooLate) return outcome;
        await keys.handBack(acquisition.key, acquisition);
        return ok({ kind: "aborted" });
      } finally {
        seat.leave();
      }
    },
    waiting: () => seats.taken(),
    [Symbol.dispose]() {
      stopWatching();
      if (!connection.isClosed()) subscription.unsubscribe();
    },
  };
}
