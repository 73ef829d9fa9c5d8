/**
 * A loop of the admin: it looks again and again, counts what it does, and never ends in silence.
 *
 * @module
 */

import { errorMessage } from "../../nats/mod.ts";
import { pause, supervise } from "../../projection/supervise.ts";
import type { LoopReport } from "../messages/health.ts";

/** A loop under way. */
export interface AdminLoop {
  /** Tells how it is doing. */
  report(): LoopReport;
  /** Ends it, and resolves when it has ended. */
  stop(): Promise<void>;
}

/** What is counted, by kind. */
export interface Tally {
  /** Counts one more, or so many more. */
  add(kind: string, count?: number): void;
  /** All counts. */
  counts(): Readonly<Record<string, number>>;
}

/** How a loop looks. */
export interface LoopOptions {
  /** Its name, for people. */
  readonly name: string;
  /** How long between two looks. */
  readonly everyMs: number;
  /** Looks once; `true` means that there is more to do at once. What it throws is shown and tried again. */
  readonly look: (signal: AbortSignal, tally: Tally) => Promise<boolean | void>;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

/** Starts a loop. */
export function startLoop({ name, everyMs, look, onNote }: LoopOptions): AdminLoop {
  const tally = createTally();
  const loop = supervise({
    async run({ signal, progressed }) {
      const more = await look(signal, tally);
      progressed();
      if (more !== true) await pause(everyMs, signal);
    },
    onFailure: (error) => onNote(`${name} failed: ${errorMessage(error)}`),
  });
  return { report: () => ({ ...loop.health(), done: tally.counts() }), stop: loop.stop };
}

/** Begins to count. */
export function createTally(): Tally {
  const counts: Record<string, number> = {};
  return {
    add(kind, count = 1) {
      counts[kind] = (counts[kind] ?? 0) + count;
    },
    counts: () => ({ ...counts }),
  };
}
