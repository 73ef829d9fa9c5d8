/**
 * Workers as their heartbeats show them.
 *
 * @module
 */

import type { WorkerHeartbeat } from "../protocol/mod.ts";

/** The latest heartbeat of a worker process on one queue. */
export interface WorkerPresence {
  /** What it said. */
  readonly heartbeat: WorkerHeartbeat;
  /** When the server took it, so that a worker's wrong clock does not matter. */
  readonly seenAt: string;
}

/** Which workers. */
export interface WorkerQuery {
  /** Workers of this service. */
  readonly service?: string;
  /** Workers seen at or after this instant. */
  readonly seenSince?: string;
}

/** A worker that was not seen for so long is not live. */
export const WORKER_FRESH_MS = 90_000;

/**
 * Tells whether a worker is live: it was seen lately and has not said goodbye.
 *
 * @example
 * ```ts
 * import { isLive } from "./presence_row.ts";
 * import assert from "node:assert/strict";
 *
 * const seenAt = "2026-01-01T00:00:00.000Z";
 * const heartbeat = { service: "billing", jobType: "charge", instanceId: "i1", timestamp: seenAt };
 * assert.equal(isLive({ heartbeat, seenAt }, Date.parse(seenAt) + 90_000), true);
 * assert.equal(isLive({ heartbeat, seenAt }, Date.parse(seenAt) + 90_001), false);
 * ```
 */
export function isLive(worker: WorkerPresence, now: number): boolean {
  return worker.heartbeat.stopping !== true && now - Date.parse(worker.seenAt) <= WORKER_FRESH_MS;
}
