/**
 * What one process at a time does: the owner's loops, from its election until it loses the seat.
 *
 * @module
 */

import type { Lifecycle } from "../../jobs/mod.ts";
import type { Connection } from "../../nats/mod.ts";
import {
  type ProjectionStore,
  type Projector,
  type RetentionPolicy,
  startRetention,
} from "../../projection/mod.ts";
import { startAdvisories } from "./advisories.ts";
import { startJanitor } from "./janitor.ts";
import type { AdminLoop } from "./loop.ts";
import { startReconciler } from "./reconcile.ts";
import { startKeyReconciler } from "./reconcile_keys.ts";
import { startSweeper } from "./sweep_records.ts";
import { startWatchdog } from "./watchdog.ts";

/** How often the owner looks, and how gently; everything may be left out. */
export interface OwnerPace {
  /** How long between two looks for passed deadlines. */
  readonly janitorMs?: number;
  /** How long between two rounds of reconciling. */
  readonly reconcileMs?: number;
  /** How old a job's last event must be before its work is missed. */
  readonly reconcileGraceMs?: number;
  /** How long between two looks for finished jobs that may go. */
  readonly retentionMs?: number;
  /** How many finished jobs may go per second. */
  readonly retentionPerSecond?: number;
}

/** What the owner works with. */
export interface OwnerOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The rows. */
  readonly store: ProjectionStore;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** How the rows stand. */
  readonly projector: () => Projector | undefined;
  /** How long finished jobs are kept. */
  readonly retention: RetentionPolicy;
  /** How often it looks. */
  readonly pace: OwnerPace;
  /** This process. */
  readonly instanceId: string;
  /** Prefix of reply subjects. */
  readonly inboxPrefix?: string;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

/** Starts the owner's loops, by name. */
export function startOwnerLoops(options: OwnerOptions, term: number): Record<string, AdminLoop> {
  const { pace, projector, instanceId, retention: policy } = options;
  const watchdog = startWatchdog(options);
  const isLive = () => projector()?.health().state === "live";
  const retention = startRetention({
    ...options,
    policy,
    isLive,
    ...(pace.retentionMs !== undefined && { everyMs: pace.retentionMs }),
    ...(pace.retentionPerSecond !== undefined && { perSecond: pace.retentionPerSecond }),
  });
  const everyReconcile = pace.reconcileMs === undefined ? {} : { everyMs: pace.reconcileMs };
  return {
    janitor: startJanitor({
      ...options,
      owner: `admin ${instanceId}, term ${term}`,
      ...(pace.janitorMs !== undefined && { everyMs: pace.janitorMs }),
    }),
    advisories: startAdvisories(options),
    watchdog,
    reconciler: startReconciler({
      ...options,
      ...everyReconcile,
      ...(pace.reconcileGraceMs !== undefined && { graceMs: pace.reconcileGraceMs }),
      isSourcing: watchdog.isAttached,
      isLive,
    }),
    keyReconciler: startKeyReconciler({ ...options, ...everyReconcile }),
    sweeper: startSweeper(options),
    retention: {
      report() {
        const { purged, ...health } = retention.health();
        return { ...health, done: { purged } };
      },
      stop: retention.stop,
    },
  };
}
