/**
 * May a new job come into the line of its key? Decided when it is created.
 *
 * @module
 */

import type { WhenFull } from "../protocol/mod.ts";
import type { JobFates, Needed } from "./fate.ts";
import {
  type Change,
  type KeyRequest,
  type KeyState,
  lastPlace,
  openState,
  type QueuedJob,
} from "./key_state.ts";
import { isBlocked, reclaim, superseding } from "./reclaim.ts";

/** A job that wants to come in. */
export interface AdmitRequest extends KeyRequest {
  /** The job. */
  readonly jobId: string;
  /** The caller's request. */
  readonly requestId: string;
  /** What to do when there is no room. */
  readonly whenFull: WhenFull;
  /** What is known of the jobs that stand in its way. */
  readonly fates: JobFates;
}

/** Why there is no room. */
export type FullReason =
  /** As many jobs of the key as may run, and none may wait. */
  | "active-limit"
  /** As many jobs of the key as may wait. */
  | "queue-depth"
  /** A lease has expired and the queue's policy is to wait for an operator. */
  | "stale-blocked";

/** What was decided about a new job. */
export type AdmitDecision =
  /** It has its place; its `created` may be published. */
  | { readonly kind: "admitted" }
  /** It has the place of a waiting job, for which `skipped` must be published after its `created`. */
  | { readonly kind: "replaced"; readonly replacedJobId: string }
  /** That job stands for it. */
  | { readonly kind: "coalesced"; readonly jobId: string }
  /** There is no room. */
  | FullKey
  /** A `created` is on its way or lost, and the policy depends on it: ask again in a moment. */
  | { readonly kind: "unsettled"; readonly otherwise: FullKey }
  | Needed;

/** A key without room, in numbers. */
export interface FullKey {
  /** The discriminant. */
  readonly kind: "full";
  /** Why. */
  readonly reason: FullReason;
  /** Jobs that run. */
  readonly active: number;
  /** Jobs that wait. */
  readonly queued: number;
  /** Jobs that may do either. */
  readonly limit: number;
}

/** So many jobs are asked about at a time: the first that is gone makes room. */
const ASK_AT_ONCE = 100;
/** Jobs that one replacement remembers; those before have been skipped long ago. */
const MOST_REPLACED = 4;

/**
 * Decides about a new job, and reserves its place. A job that has one already keeps it, so that the
 * request may be repeated.
 *
 * @example
 * ```ts
 * import { admit } from "./admit.ts";
 * import { NO_FATES } from "./fate.ts";
 * import assert from "node:assert/strict";
 *
 * const request = {
 *   key: { service: "billing", jobType: "charge", key: "order:1", keyHash: "0f".repeat(32) },
 *   policy: {
 *     maxActive: 1,
 *     maxQueuedPerKey: 0,
 *     heartbeatIntervalMs: 30_000,
 *     heartbeatTtlMs: 390_000,
 *     stalePolicy: "fail-stale",
 *   },
 *   jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
 *   requestId: "request-1",
 *   whenFull: "reject",
 *   fates: NO_FATES,
 * } as const;
 * const first = admit(undefined, request, 0);
 * assert.deepEqual(first.decision, { kind: "admitted" });
 * const second = admit(first.state, { ...request, jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AC" }, 1);
 * assert.deepEqual(second.decision, { kind: "ask", jobIds: ["01JZ6N5V4T8Y3K2QX9W7R5M1AB"] });
 * ```
 */
export function admit(
  state: KeyState | undefined,
  request: AdmitRequest,
  now: number,
): Change<KeyState, AdmitDecision> {
  const { jobId, fates, policy } = request;
  const held: readonly QueuedJob[] = [...state?.active ?? [], ...state?.queued ?? []];
  const own = held.find((job) => job.jobId === jobId);
  if (own !== undefined) return { state, decision: again(own) };
  const limit = policy.maxActive + policy.maxQueuedPerKey;
  const opened = openState(state, request);
  if (held.length < limit) return admitted(opened, request, now);
  const { state: left, supersede } = reclaim(opened, { ...policy, fates }, now);
  if (left.active.length + left.queued.length < limit) return admitted(left, request, now);
  const unknown = held.map((job) => job.jobId).filter((id) => !fates.has(id));
  if (unknown.length > 0) {
    return { state, decision: { kind: "ask", jobIds: unknown.slice(0, ASK_AT_ONCE) } };
  }
  if (supersede.length > 0) return { state, decision: superseding(left, supersede) };
  return whenFull(left === opened ? state : left, left, request, now);
}

/** The same answer as the first time, whose own may have been lost. */
function again({ replaces }: QueuedJob): AdmitDecision {
  const replacedJobId = replaces?.at(-1);
  return replacedJobId === undefined ? { kind: "admitted" } : { kind: "replaced", replacedJobId };
}

function admitted(
  state: KeyState,
  { jobId, requestId }: AdmitRequest,
  now: number,
): Change<KeyState, AdmitDecision> {
  const job: QueuedJob = { jobId, createdAt: now, requestId, place: lastPlace(state) };
  return {
    state: { ...state, queued: [...state.queued, job] },
    decision: { kind: "admitted" },
  };
}

/** The key is full and every job in it is accounted for: the policy decides. */
function whenFull(
  unchanged: KeyState | undefined,
  state: KeyState,
  request: AdmitRequest,
  now: number,
): Change<KeyState, AdmitDecision> {
  const { fates } = request;
  const same = (decision: AdmitDecision) => ({ state: unchanged, decision });
  const lives = ({ jobId }: { readonly jobId: string }) => {
    const kind = fates.get(jobId)?.kind;
    return kind === "waiting" || kind === "active";
  };
  if (request.whenFull === "coalesce") {
    const found = state.queued.findLast(lives) ?? state.active.find(lives);
    if (found !== undefined) return same({ kind: "coalesced", jobId: found.jobId });
  }
  if (request.whenFull === "replace-oldest") {
    const oldest = state.queued.find(({ jobId }) => fates.get(jobId)?.kind === "waiting");
    if (oldest !== undefined) return replaced(state, oldest, request, now);
  }
  // A job that was just reserved can neither stand for another nor be skipped before it exists.
  const otherwise = full(state, request, now);
  const coming = state.queued.some(({ jobId }) => fates.get(jobId)?.kind === "absent");
  return same(
    coming && request.whenFull !== "reject" ? { kind: "unsettled", otherwise } : otherwise,
  );
}

function replaced(
  state: KeyState,
  oldest: QueuedJob,
  { jobId, requestId }: AdmitRequest,
  now: number,
): Change<KeyState, AdmitDecision> {
  const replaces = [...oldest.replaces ?? [], oldest.jobId].slice(-MOST_REPLACED);
  const job: QueuedJob = { jobId, createdAt: now, requestId, place: lastPlace(state), replaces };
  const queued = [...state.queued.filter((other) => other !== oldest), job];
  return {
    state: { ...state, queued },
    decision: { kind: "replaced", replacedJobId: oldest.jobId },
  };
}

function full(state: KeyState, { policy }: AdmitRequest, now: number): FullKey {
  const { maxActive, maxQueuedPerKey, stalePolicy } = policy;
  const waits = maxQueuedPerKey === 0 ? "active-limit" : "queue-depth";
  return {
    kind: "full",
    reason: isBlocked(state, stalePolicy, now) ? "stale-blocked" : waits,
    active: state.active.length,
    queued: state.queued.length,
    limit: maxActive + maxQueuedPerKey,
  };
}
