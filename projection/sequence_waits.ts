/**
 * Waiting until the projection has an event: what a command does after it has written one.
 *
 * @module
 */

/** Those who wait. */
export interface SequenceWaits {
  /** Resolves with `true` when a place is reached, with `false` when that takes too long. */
  waitFor(sequence: number, timeoutMs: number): Promise<boolean>;
  /** Tells that everything up to a place is in the rows. */
  reached(sequence: number): void;
  /** Tells that nothing more will be reached: all who wait get `false`. */
  end(): void;
}

interface Waiter {
  readonly sequence: number;
  readonly resolve: (reached: boolean) => void;
}

/**
 * Makes an empty waiting room.
 *
 * @example
 * ```ts
 * import { createSequenceWaits } from "./sequence_waits.ts";
 * import assert from "node:assert/strict";
 *
 * const waits = createSequenceWaits();
 * const reached = waits.waitFor(7, 1_000);
 * waits.reached(9);
 * assert.equal(await reached, true);
 * assert.equal(await waits.waitFor(10, 1), false);
 * ```
 */
export function createSequenceWaits(): SequenceWaits {
  const waiters = new Set<Waiter>();
  let place = 0;
  let ended = false;
  return {
    waitFor(sequence, timeoutMs) {
      if (sequence <= place) return Promise.resolve(true);
      if (ended || timeoutMs <= 0) return Promise.resolve(false);
      return new Promise((resolve) => {
        const waiter: Waiter = {
          sequence,
          resolve(reached) {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(reached);
          },
        };
        const timer = setTimeout(() => waiter.resolve(false), timeoutMs);
        waiters.add(waiter);
      });
    },
    reached(sequence) {
      place = sequence;
      for (const waiter of waiters) if (waiter.sequence <= sequence) waiter.resolve(true);
    },
    end() {
      ended = true;
      for (const waiter of waiters) waiter.resolve(false);
    },
  };
}
