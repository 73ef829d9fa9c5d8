/**
 * The watchdog of the work stream's source. After a leader's death the server can take most of a
 * minute until it copies new jobs into the work stream again; a step-down heals that at once.
 *
 * @module
 */

import {
  type Connection,
  errorMessage,
  readSources,
  type SourceStanding,
  stepDown,
} from "../../nats/mod.ts";
import { JOBS_STREAM, WORK_STREAM } from "../../protocol/mod.ts";
import { type AdminLoop, startLoop } from "./loop.ts";

/** What the watchdog works with. */
export interface WatchdogOptions {
  /** The connection. */
  readonly connection: Connection;
  /** How long between two looks; 2 s. */
  readonly everyMs?: number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

/** A watchdog under way. */
export interface Watchdog extends AdminLoop {
  /** Whether new jobs reach the work stream, as far as is known. */
  isAttached(): boolean;
}

const EVERY_MS = 2_000;
/** The source is heard from every second, also when there is nothing to copy. */
const SILENT_MS = 4_000;
/** A new leader needs a moment before it is judged. */
const REST_MS = 15_000;
const ANSWER_MS = 5_000;

/**
 * Tells whether a stream's source is at work.
 *
 * @example
 * ```ts
 * import { isSourcing } from "./watchdog.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(isSourcing([{ name: "JOBS", activeMs: 800, lag: 0 }]), true);
 * assert.equal(isSourcing([{ name: "JOBS", activeMs: -1, lag: 0 }]), false);
 * ```
 */
export function isSourcing(sources: readonly SourceStanding[]): boolean {
  const source = sources.find(({ name }) => name === JOBS_STREAM);
  return source !== undefined && source.activeMs >= 0 && source.activeMs <= SILENT_MS;
}

/** Starts to watch. */
export function startWatchdog(
  { connection, everyMs = EVERY_MS, onNote }: WatchdogOptions,
): Watchdog {
  let silentLooks = 0;
  let restUntil = 0;
  const loop = startLoop({
    name: "the source watchdog",
    everyMs,
    onNote,
    async look(_signal, tally) {
      const giveUpAt = Date.now() + ANSWER_MS;
      const sourcing = isSourcing(await readSources(connection, WORK_STREAM, { giveUpAt }));
      silentLooks = sourcing ? 0 : silentLooks + 1;
      // One look may fall into the moment in which a source attaches.
      if (silentLooks < 2 || Date.now() < restUntil) return;
      restUntil = Date.now() + REST_MS;
      tally.add("stalls");
      onNote(`${WORK_STREAM} no longer takes in new jobs, asking its leader to step down`);
      try {
        await stepDown(connection, WORK_STREAM, { giveUpAt });
        tally.add("step-downs");
      } catch (error) {
        onNote(`cannot ask the leader of ${WORK_STREAM} to step down: ${errorMessage(error)}`);
      }
    },
  });
  const isAttached = () => silentLooks < 2;
  const lastError = `${WORK_STREAM} no longer takes in new jobs from ${JOBS_STREAM}`;
  return {
    ...loop,
    isAttached,
    report: () => ({ ...loop.report(), ...(!isAttached() && { state: "stalled", lastError }) }),
  };
}
