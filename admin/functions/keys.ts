/**
 * Keys: who runs, who waits, and taking a key from an owner that never gives it back.
 *
 * @module
 */

import { isExpired } from "../../keys/lease.ts";
import type { KeyState } from "../../keys/mod.ts";
import { isLive } from "../../projection/presence_row.ts";
import {
  err,
  ok,
  type PolicyCounters,
  type QueueAddress,
  type Result,
  type StalePolicy,
} from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type {
  GetKeyRequest,
  GetKeyResponse,
  KeyStatus,
  ReleaseKeyRequest,
  ReleaseKeyResponse,
} from "../messages/keys.ts";
import type { AdminPorts } from "../ports.ts";
import type { CallContext } from "../procedure.ts";

/** Shows all keys that match. */
export async function getKey(
  { service, type, key, keyHash }: GetKeyRequest,
  { ports }: CallContext,
): Promise<Result<GetKeyResponse, AdminError>> {
  const queue = { service, jobType: type };
  const which = keyHash === undefined ? { key: key ?? "" } : { keyHash };
  const known = await ports.store.findKeys({ service, type, ...which });
  const hashes = new Set(known.map((match) => match.keyHash));
  if (keyHash !== undefined) hashes.add(keyHash);
  const stalePolicy = await stalePolicyOf(queue, ports);
  const keys: KeyStatus[] = [];
  for (const hash of hashes) {
    const read = await ports.keys.read(queue, hash);
    if (!read.ok) return read;
    const match = known.find((other) => other.keyHash === hash);
    if (read.value !== undefined) keys.push(keyStatus(read.value, stalePolicy, ports.clock()));
    else if (match !== undefined) keys.push(idleStatus(queue, match, stalePolicy));
  }
  if (keys.length === 0) {
    const shown = JSON.stringify(key ?? keyHash);
    const message = `Cannot get key ${shown} of ${service} ${type}: no job has it`;
    return err(new AdminError("not_found", message));
  }
  return ok({ keys, policyCounts: await policyCounts(queue, ports) });
}

/** Takes a key from its holders; running jobs among them become `stale`. */
export async function releaseKey(
  { service, type, keyHash, jobId }: ReleaseKeyRequest,
  { ports, identity: { actor } }: CallContext,
): Promise<Result<ReleaseKeyResponse, AdminError>> {
  const queue = { service, jobType: type };
  const before = await ports.keys.read(queue, keyHash);
  if (!before.ok) return before;
  const state = before.value;
  const held = state?.active.some((slot) => jobId === undefined || slot.jobId === jobId) === true;
  if (state === undefined || !held) {
    const who = jobId === undefined ? "nobody holds it" : `job ${jobId} does not hold it`;
    const message = `Cannot release key ${keyHash} of ${service} ${type}: ${who}`;
    return err(new AdminError("not_found", message));
  }
  const from = jobId === undefined ? {} : { jobId };
  const released = await ports.keys.release({ queue, state, actor, ...from });
  if (!released.ok) return released;
  const after = await ports.keys.read(queue, keyHash);
  const stalePolicy = await stalePolicyOf(queue, ports);
  return ok({
    released: released.value,
    ...(after.ok && after.value !== undefined &&
      { key: keyStatus(after.value, stalePolicy, ports.clock()) }),
  });
}

/** Shows a key's state at an instant. */
export function keyStatus(
  state: KeyState,
  stalePolicy: StalePolicy | undefined,
  now: number,
): KeyStatus {
  const { service, jobType, key, keyHash, maxActive, maxQueuedPerKey, staleTakeoverCount } = state;
  const expired = state.active.some((slot) => isExpired(slot, now));
  return {
    service,
    type: jobType,
    key,
    keyHash,
    maxActive,
    maxQueuedPerKey,
    ...(stalePolicy !== undefined && { stalePolicy }),
    holders: state.active.map((slot) => ({
      jobId: slot.jobId,
      instanceId: slot.instanceId,
      tries: slot.tries,
      startedAt: text(slot.startedAt),
      heartbeatAt: text(slot.heartbeatAt),
      heartbeatAgeMs: now - slot.heartbeatAt,
      leaseExpiresAt: text(slot.leaseExpiresAt),
      expired: isExpired(slot, now),
      ...(slot.lingering === true && { lingering: true }),
    })),
    waiters: state.queued.map(({ jobId, createdAt, requestId, notBefore }) => ({
      jobId,
      createdAt: text(createdAt),
      requestId,
      ...(notBefore !== undefined && { notBefore: text(notBefore) }),
    })),
    blocked: expired && stalePolicy === "block",
    staleTakeoverCount,
  };
}

/** A key whose jobs have all ended: coordination keeps nothing of it. */
function idleStatus(
  queue: QueueAddress,
  { key, keyHash }: { readonly key: string; readonly keyHash: string },
  stalePolicy: StalePolicy | undefined,
): KeyStatus {
  const nobody = {
    maxActive: 0,
    maxQueuedPerKey: 0,
    active: [],
    queued: [],
    staleTakeoverCount: 0,
  };
  return keyStatus({ ...queue, key, keyHash, ...nobody }, stalePolicy, 0);
}

async function stalePolicyOf(
  { service, jobType }: QueueAddress,
  { queues }: AdminPorts,
): Promise<StalePolicy | undefined> {
  const declared = (await queues.declared()).find((queue) =>
    queue.service === service && queue.jobType === jobType
  );
  return declared?.keyConcurrency?.stalePolicy;
}

async function policyCounts(
  { service, jobType }: QueueAddress,
  { store, clock }: AdminPorts,
): Promise<PolicyCounters> {
  const workers = (await store.listWorkers({ service })).filter((worker) =>
    worker.heartbeat.jobType === jobType && isLive(worker, clock())
  );
  const sum = (kind: keyof PolicyCounters) => {
    const sums: Record<string, number> = {};
    for (const { heartbeat } of workers) {
      for (const [reason, count] of Object.entries(heartbeat.counters?.[kind] ?? {})) {
        sums[reason] = (sums[reason] ?? 0) + count;
      }
    }
    return sums;
  };
  return { rejected: sum("rejected"), coalesced: sum("coalesced"), replaced: sum("replaced") };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
