/** How much work to fetch ahead: what will be begun in a moment, so that nothing is hoarded. */

/** How far ahead to fetch, in time. */
const AHEAD_MS = 100;
/** Never more than this, however fast the handlers are. */
const MOST = 250;
/** How much one more observation counts. */
const WEIGHT = 0.05;

/** Learns how long jobs take and says how many to fetch ahead. */
export interface Prefetch {
  /** Notes how long a job took. */
  note(durationMs: number): void;
  /** How many to hold beyond those that run. */
  size(): number;
  /** Forgets what it learned: the pace has changed. */
  forget(): void;
}

/**
 * Begins with no prefetch: a slow handler must not keep work from idle siblings. Fast handlers earn
 * as much as they will use up in the next moment.
 */
export function createPrefetch(concurrency: number): Prefetch {
  let averageMs = Infinity;
  return {
    note(durationMs) {
      averageMs = averageMs === Infinity
        ? durationMs
        : averageMs + WEIGHT * (durationMs - averageMs);
    },
    forget() {
      averageMs = Infinity;
    },
    size() {
      return Math.min(MOST, Math.floor((concurrency * AHEAD_MS) / Math.max(averageMs, 0.05)));
    },
  };
}
