/**
 * What a server can do, told from its version once and asked everywhere.
 *
 * Old servers accept newer configuration and do nothing with it, in silence; so nothing is tried,
 * everything is gated here.
 *
 * @module
 */

import { JobsError } from "./errors.ts";
import { err, ok, type Result } from "./result.ts";

/** What the connected server can do. */
export interface ServerCapabilities {
  /** The server's version as it says it. */
  readonly version: string;
  /** A publish can expect the last sequence over all subjects of a job (2.12). */
  readonly lifecycleCompareAndSet: boolean;
  /** All-or-nothing publishing of many messages (2.12). */
  readonly atomicBatches: boolean;
  /** Messages that the server publishes later (2.12). */
  readonly schedules: boolean;
  /** Schedules that repeat by cron expression (2.14). */
  readonly cronSchedules: boolean;
  /** Messages that expire by themselves (2.11). */
  readonly messageTtl: boolean;
  /** Consumers that can be paused (2.11). */
  readonly consumerPause: boolean;
  /** The last message of many subjects in one read (2.11). */
  readonly multiLastGet: boolean;
}

/** The oldest server that works: source subject transforms and filtered consumer create. */
export const MINIMUM_SERVER_VERSION = "2.10.0";

/**
 * Tells what a server of a version can do, or that it is too old.
 *
 * @example
 * ```ts
 * import { serverCapabilities } from "./capabilities.ts";
 * import assert from "node:assert/strict";
 *
 * const newest = serverCapabilities("2.15.1");
 * assert.equal(newest.ok && newest.value.lifecycleCompareAndSet, true);
 * assert.equal(serverCapabilities("2.9.10").ok, false);
 * ```
 */
export function serverCapabilities(
  version: string,
): Result<ServerCapabilities, JobsError<"unsupported-server">> {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (match === null) {
    return unsupported(
      `Cannot use this server: its version ${JSON.stringify(version)} is not readable`,
    );
  }
  // Exactly three groups matched; a pre-release (2.12.0-preview.1) counts as its release.
  const release = Number(match[1]) * 1_000_000 + Number(match[2]) * 1_000;
  const since = (major: number, minor: number) => release >= major * 1_000_000 + minor * 1_000;
  if (!since(2, 10)) {
    return unsupported(
      `Cannot use this server: nats-server ${version} is too old, ${MINIMUM_SERVER_VERSION} or newer is needed`,
    );
  }
  return ok({
    version,
    lifecycleCompareAndSet: since(2, 12),
    atomicBatches: since(2, 12),
    schedules: since(2, 12),
    cronSchedules: since(2, 14),
    messageTtl: since(2, 11),
    consumerPause: since(2, 11),
    multiLastGet: since(2, 11),
  });
}

function unsupported(
  message: string,
): { readonly ok: false; readonly error: JobsError<"unsupported-server"> } {
  return err(new JobsError("unsupported-server", message));
}
