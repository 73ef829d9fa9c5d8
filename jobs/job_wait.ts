/**
 * One job's wait for its key: put aside, and called away when the worker, its deadline or its history
 * says so.
 *
 * @module
 */

import { isTerminal } from "../protocol/mod.ts";
import { type LifeOptions, LOOK_AFTER_MS } from "./job_life.ts";
import type { Waiting } from "./start_keyed.ts";
import { settled } from "./start_try.ts";
import type { Waiter, WaitingRoom } from "./_waiting_room.ts";
import type { WorkItem } from "./work_item.ts";

/** One job's wait. */
export interface JobWait extends Waiter {
  /** The wait as the start of the try sees it. */
  of(item: WorkItem): Waiting;
  /** Looks whether the job has ended meanwhile, and calls it away if so. */
  look(item: WorkItem, options: LifeOptions): void;
}

/** What a wait needs. */
export interface JobWaitOptions {
  /** Where it waits. */
  readonly room: WaitingRoom;
  /** Whether its work must not be given back once more. */
  readonly isNear: () => boolean;
  /** Told when its slot is lost. */
  readonly onLost: (why: string) => void;
}

/** Timers count in 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Makes the wait of one job. */
export function createJobWait({ room, isNear, onLost }: JobWaitOptions): JobWait {
  let waitsFor: string | undefined;
  let deliveries = 1;
  let away = new AbortController();
  let backAfterMs: number | undefined;
  let deadlineTimer: ReturnType<typeof setTimeout> | undefined;
  const wait: JobWait = {
    keyHash: () => waitsFor,
    deliveries: () => deliveries,
    mayGoBack: () => backAfterMs === undefined && !isNear(),
    callAway(delayMs) {
      backAfterMs ??= delayMs;
      away.abort();
    },
    look(item, options) {
      const waits = () => waitsFor !== undefined;
      if (waits()) void lookUntilEnded(item, options, waits, () => away.abort());
    },
    of(item) {
      deliveries = item.deliveries;
      return {
        begin({ keyHash }) {
          waitsFor = keyHash;
          if (away.signal.aborted && backAfterMs === undefined) away = new AbortController();
          return away.signal;
        },
        aside() {
          room.enter(wait);
          deadlineTimer ??= timerAt(item.deadline, () => away.abort());
        },
        ready: () => room.hand(wait, away.signal),
        lost: onLost,
        calledAway: () =>
          backAfterMs === undefined ? "look" : settled({ kind: "nak", delayMs: backAfterMs }),
        end() {
          waitsFor = undefined;
          clearTimeout(deadlineTimer);
        },
      };
    },
  };
  return wait;
}

/** What is heard can be stored a moment later, so it is looked for more than once. */
async function lookUntilEnded(
  item: WorkItem,
  { lifecycle }: LifeOptions,
  waits: () => boolean,
  onEnded: () => void,
): Promise<void> {
  for (const waitMs of LOOK_AFTER_MS) {
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (!waits()) return;
    const snapshot = await lifecycle.read(item).catch(() => undefined);
    if (snapshot !== undefined && isTerminal(snapshot.job.state)) return onEnded();
  }
}

function timerAt(
  deadline: string | undefined,
  react: () => void,
): ReturnType<typeof setTimeout> | undefined {
  if (deadline === undefined) return undefined;
  const waitMs = Date.parse(deadline) - Date.now();
  return waitMs > LONGEST_TIMER_MS ? undefined : setTimeout(react, Math.max(waitMs, 0));
}
