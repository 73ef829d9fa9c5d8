/**
 * Where a projector stands, and what follows from it: who waits, what is to be swept, what it shows.
 *
 * @module
 */

import { createSequenceWaits, type SequenceWaits } from "./sequence_waits.ts";
import type { ProjectionPosition } from "./store.ts";
import type { LoopHealth } from "./supervise.ts";
import type { HoleSweeper } from "./sweep_holes.ts";

/** How a projector is doing. */
export interface ProjectorHealth {
  /** Whether it reads, and whether it has caught up. */
  readonly state: LoopHealth["state"] | "rebuilding" | "catching-up" | "live";
  /** Everything up to this place is in the rows. */
  readonly sequence: number;
  /** Messages still to be read, as far as it knows. */
  readonly lag: number;
  /** A rebuild under way: its reason, and the place at which it will be complete. */
  readonly rebuild?: { readonly reason: string; readonly to: number };
  /** Messages that were no events of ours, since the last rebuild, by reason. */
  readonly skipped: Readonly<Record<string, number>>;
  /** How often it has failed. */
  readonly failures: number;
  /** What went wrong last, and when. */
  readonly lastError?: string;
  /** When that was. */
  readonly lastErrorAt?: string;
}

/** The standing of one projector. */
export interface Standing extends Pick<SequenceWaits, "waitFor"> {
  /** The position, without holes that have been looked after. */
  position(): ProjectionPosition;
  /** Notes a new position, and how many messages are still to come. */
  arrive(position: ProjectionPosition, pending: number): void;
  /** Notes that the rows have been emptied, and why. */
  beginAnew(reason: string): void;
  /** Tells how the projector is doing. */
  health(loop: LoopHealth): ProjectorHealth;
  /** Lets nobody wait any longer. */
  stop(): Promise<void>;
}

/** Begins at nothing. */
export function createStanding(sweeper: HoleSweeper): Standing {
  const waits = createSequenceWaits();
  let position: ProjectionPosition = { sequence: 0, skipped: {}, revision: 0 };
  let lag = 0;
  let reason = "";
  return {
    waitFor: waits.waitFor,
    position() {
      const { holesAt = 0, ...whole } = position;
      return holesAt > sweeper.sweptTo ? position : whole;
    },
    arrive(next, pending) {
      position = next;
      lag = pending;
      waits.reached(next.sequence);
      // Not while catching up: an event that is still to be read may end the job.
      if (lag === 0) sweeper.begin(next.holesAt ?? 0);
    },
    beginAnew(why) {
      reason = why;
      sweeper.beginAnew();
    },
    health(loop) {
      const { sequence, skipped, rebuildTo } = position;
      const working = rebuildTo !== undefined ? "rebuilding" : lag > 0 ? "catching-up" : "live";
      return {
        ...loop,
        state: loop.state === "running" ? working : loop.state,
        sequence,
        lag,
        skipped,
        ...(rebuildTo !== undefined && { rebuild: { reason, to: rebuildTo } }),
      };
    },
    async stop() {
      waits.end();
      await sweeper.stop();
    },
  };
}
