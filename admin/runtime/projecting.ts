/**
 * Keeping the rows up to date, by this process or by another one that shares the database.
 *
 * @module
 */

import type { Connection } from "../../nats/mod.ts";
import {
  type PresenceProjector,
  type ProjectionStore,
  type Projector,
  startPresenceProjector,
  startProjector,
} from "../../projection/mod.ts";
import type { LoopReport, ProjectionReport } from "../messages/health.ts";

/** What projecting works with. */
export interface ProjectingOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The rows. */
  readonly store: ProjectionStore;
  /** Prefix of reply subjects. */
  readonly inboxPrefix?: string;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

/** Rows and who keeps them. */
export interface Projecting {
  /** The projector, while this process has one. */
  projector(): Projector | undefined;
  /** Begins to keep the rows. */
  start(): void;
  /** Leaves that to others, and resolves when it has. */
  stop(): Promise<void>;
  /** Resolves with `true` when a place is in the rows, with `false` when that takes too long. */
  waitFor(sequence: number, timeoutMs: number): Promise<boolean>;
  /** Tells how the rows stand. */
  report(): Promise<ProjectionReport>;
  /** Tells how the presence of workers is doing. */
  presence(): LoopReport | undefined;
}

/** A projection that somebody else writes is asked for its place so often. */
const FIRST_LOOK_MS = 5;
const SLOWEST_LOOK_MS = 200;

/** Makes what keeps the rows; it does nothing until it is started. */
export function createProjecting(options: ProjectingOptions): Projecting {
  const { store } = options;
  let projector: Projector | undefined;
  let presence: PresenceProjector | undefined;
  return {
    projector: () => projector,
    start() {
      projector = startProjector(options);
      presence = startPresenceProjector(options);
    },
    async stop() {
      const stopping = [projector?.stop(), presence?.stop()];
      projector = undefined;
      presence = undefined;
      await Promise.all(stopping);
    },
    async waitFor(sequence, timeoutMs) {
      if (projector !== undefined) return await projector.waitFor(sequence, timeoutMs);
      return await waitForStore(store, sequence, timeoutMs);
    },
    async report() {
      if (projector === undefined) {
        const { sequence, skipped } = await store.position();
        return { state: "shared", sequence, skipped };
      }
      const { failures: _failures, lastErrorAt: _at, ...health } = projector.health();
      return health;
    },
    presence() {
      if (presence === undefined) return undefined;
      const { skipped, ...health } = presence.health();
      return { ...health, done: { skipped } };
    },
  };
}

async function waitForStore(
  store: Pick<ProjectionStore, "position">,
  sequence: number,
  timeoutMs: number,
): Promise<boolean> {
  const giveUpAt = Date.now() + timeoutMs;
  for (let lookMs = FIRST_LOOK_MS;; lookMs = Math.min(lookMs * 2, SLOWEST_LOOK_MS)) {
    if ((await store.position()).sequence >= sequence) return true;
    if (Date.now() + lookMs > giveUpAt) return false;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
