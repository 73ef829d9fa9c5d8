/**
 * A loop that never ends in silence: what fails is shown, and started again after a wait.
 *
 * @module
 */

import { backoffMs, withJitterMs } from "../protocol/mod.ts";

/** How a loop is doing. */
export interface LoopHealth {
  /** `running` once it has got somewhere, `failing` from a failure until then. */
  readonly state: "starting" | "running" | "failing" | "stopped";
  /** How often it has failed. */
  readonly failures: number;
  /** What went wrong last. */
  readonly lastError?: string;
  /** When that was. */
  readonly lastErrorAt?: string;
}

/** What a run of the loop is given. */
export interface RunContext {
  /** Aborted when the loop is to end. */
  readonly signal: AbortSignal;
  /** To be called when it has got somewhere: the next failure is then a first one again. */
  readonly progressed: () => void;
}

/** How a loop is kept going. */
export interface SuperviseOptions {
  /** One run: it ends when there is something to begin anew, or throws. */
  readonly run: (context: RunContext) => Promise<void>;
  /** The present instant; the machine's clock when left out. */
  readonly clock?: () => number;
  /** Told of each failure, beside the health. */
  readonly onFailure?: (error: unknown) => void;
}

/** A loop under way. */
export interface Supervised extends AsyncDisposable {
  /** Tells how it is doing. */
  health(): LoopHealth;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

const BACKOFF = { policy: "exponential", firstMs: 100, maxMs: 10_000 } as const;

/**
 * Runs something again and again until it is stopped.
 *
 * @example
 * ```ts
 * import { supervise } from "./supervise.ts";
 * import assert from "node:assert/strict";
 *
 * const failed = Promise.withResolvers<void>();
 * await using loop = supervise({
 *   run: () => Promise.reject(new Error("no server")),
 *   onFailure: () => failed.resolve(),
 * });
 * await failed.promise;
 * assert.equal(loop.health().lastError, "no server");
 * ```
 */
export function supervise(
  { run, clock = Date.now, onFailure = () => {} }: SuperviseOptions,
): Supervised {
  const stopping = new AbortController();
  const { signal } = stopping;
  let health: LoopHealth = { state: "starting", failures: 0 };
  let inARow = 0;
  const progressed = () => {
    inARow = 0;
    if (health.state !== "running") health = { ...health, state: "running" };
  };
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await run({ signal, progressed });
      } catch (error) {
        if (signal.aborted) break;
        health = {
          state: "failing",
          failures: health.failures + 1,
          lastError: error instanceof Error ? error.message : String(error),
          lastErrorAt: new Date(clock()).toISOString(),
        };
        onFailure(error);
        await pause(withJitterMs(backoffMs(BACKOFF, ++inARow), Math.random), signal);
      }
    }
    health = { ...health, state: "stopped" };
  };
  const ended = loop();
  const stop = (): Promise<void> => {
    stopping.abort();
    return ended;
  };
  return { health: () => health, stop, [Symbol.asyncDispose]: stop };
}

/** Waits, or less long when it is no longer wanted. */
export function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, Math.max(0, waitMs));
    signal.addEventListener("abort", done);
  });
}
