/**
 * May this job run now? Decided before its try is started.
 *
 * @module
 */

import type { JobFates, Needed } from "./fate.ts";
import {
  type ActiveSlot,
  type Change,
  type KeyRequest,
  type KeyState,
  lastPlace,
  openState,
  type QueuedJob,
} from "./key_state.ts";
import { expiredFrom, grantLease, silentFrom, stoppedFrom } from "./lease.ts";
import { type Turn, turnOf } from "./line.ts";
import { isBlocked, reclaim, RESERVATION_GRACE_MS, superseding, suspects } from "./reclaim.ts";

/** A job that wants to run. */
export interface AcquireRequest extends KeyRequest {
  /** The job. */
  readonly jobId: string;
  /** The caller's request, for a job that has lost its place in line. */
  readonly requestId: string;
  /** Made anew for each attempt to run; the same for its repetitions. */
  readonly slotToken: string;
  /** The worker process. */
  readonly instanceId: string;
  /** The number of the try. */
  readonly tries: number;
  /** Whether it may still be skipped: no try of it was begun that has not reported its end. */
  readonly skippable: boolean;
  /** What is known of the jobs that stand in its way. */
  readonly fates: JobFates;
}

/** Why a job must wait. */
export type WaitReason =
  /** As many jobs of the key run as may. */
  | "busy"
  /** Others are before it in line. */
  | "behind"
  /** Its own earlier try may still be running. */
  | "own-slot"
  /** A lease has expired, and only its owner or an operator may free the slot. */
  | "blocked"
  /** Another job is about to take its place. */
  | "replacing";

/** What was decided about a job that wants to run. */
export type AcquireDecision =
  /** It runs, in this slot. */
  | { readonly kind: "acquired"; readonly slot: ActiveSlot; readonly staleTakeoverCount: number }
  /** Not yet; without any change of the key, not before this instant. */
  | { readonly kind: "wait"; readonly why: WaitReason; readonly until?: number }
  /** Never: that job took its place. `skipped` must be stored for it, if it is not yet. */
  | { readonly kind: "replaced"; readonly byJobId: string }
  | Needed;

/**
 * Decides whether a job may run, and takes the slot if so. A job that lost its place in line gets a
 * new one at the end, past the limit if need be: it exists, so it must run.
 */
export function acquire(
  state: KeyState | undefined,
  request: AcquireRequest,
  now: number,
): Change<KeyState, AcquireDecision> {
  const { jobId, fates, policy, skippable } = request;
  const opened = openState(state, request);
  const own = opened.active.find((slot) => slot.jobId === jobId);
  if (own !== undefined) return inOwnSlot(state, opened, own, request, now);
  const successor = opened.queued.find(({ replaces }) => replaces?.includes(jobId) === true);
  if (successor !== undefined && skippable) {
    const decision = afterReplacement(successor, fates, now);
    if (decision !== undefined) return { state, decision };
  }
  const { state: left, supersede } = reclaim(opened, { ...policy, fates }, now);
  const lined = inLine(left, request, now);
  const turn = turnOf(lined, jobId, fates, now);
  if (turn.kind === "now") return acquired(lined, turn.passed, request, now);
  if (supersede.length > 0) return { state, decision: superseding(left, supersede) };
  const askable = turn.kind === "unclaimed"
    ? turn.jobIds
    : suspects(left, policy, now).map((slot) => slot.jobId).filter((id) => !fates.has(id));
  if (askable.length > 0) return { state, decision: { kind: "ask", jobIds: askable } };
  return { state: lined === opened ? state : lined, decision: waiting(lined, turn, request, now) };
}

/** Its worker died, or this is a repetition: a job is never stale to itself. */
function inOwnSlot(
  stored: KeyState | undefined,
  state: KeyState,
  own: ActiveSlot,
  { slotToken, instanceId, tries, policy }: AcquireRequest,
  now: number,
): Change<KeyState, AcquireDecision> {
  const { staleTakeoverCount } = state;
  if (own.slotToken === slotToken) {
    return { state: stored, decision: { kind: "acquired", slot: own, staleTakeoverCount } };
  }
  const until = stoppedFrom(own, policy.heartbeatIntervalMs);
  if (now < until) return { state: stored, decision: { kind: "wait", why: "own-slot", until } };
  const { jobId, createdAt, requestId, place } = own;
  const slot: ActiveSlot = {
    ...{ jobId, createdAt, requestId, place, slotToken, instanceId, tries, startedAt: now },
    ...grantLease(policy.heartbeatTtlMs, now),
  };
  const active = state.active.map((other) => other === own ? slot : other);
  return {
    state: { ...state, active },
    decision: { kind: "acquired", slot, staleTakeoverCount },
  };
}

/** A replacement that was never created is no replacement: `undefined`, and the job goes on. */
function afterReplacement(
  successor: QueuedJob,
  fates: JobFates,
  now: number,
): AcquireDecision | undefined {
  const fate = fates.get(successor.jobId);
  if (fate === undefined) return { kind: "ask", jobIds: [successor.jobId] };
  if (fate.kind !== "absent") return { kind: "replaced", byJobId: successor.jobId };
  const until = successor.createdAt + RESERVATION_GRACE_MS + 1;
  return now < until ? { kind: "wait", why: "replacing", until } : undefined;
}

/** The state with the job in line and claimed: it is here, so its time has come. */
function inLine(state: KeyState, { jobId, requestId }: AcquireRequest, now: number): KeyState {
  const at = state.queued.findIndex((job) => job.jobId === jobId);
  const found = state.queued[at];
  if (found === undefined) {
    const job: QueuedJob = { jobId, createdAt: now, requestId, place: lastPlace(state) };
    return { ...state, queued: [...state.queued, job] };
  }
  if (found.passed === undefined && found.notBefore === undefined) return state;
  const { passed: _passed, notBefore: _notBefore, ...claimed } = found;
  return { ...state, queued: state.queued.with(at, claimed) };
}

function acquired(
  state: KeyState,
  passed: readonly QueuedJob[],
  { jobId, slotToken, instanceId, tries, policy }: AcquireRequest,
  now: number,
): Change<KeyState, AcquireDecision> {
  const place = state.queued.find((job) => job.jobId === jobId);
  if (place === undefined) throw new Error(`Cannot acquire: job ${jobId} is not in line`);
  const { createdAt, requestId } = place;
  const slot: ActiveSlot = {
    ...{ jobId, createdAt, requestId, place: place.place },
    ...{ slotToken, instanceId, tries, startedAt: now },
    ...grantLease(policy.heartbeatTtlMs, now),
  };
  const queued = state.queued.filter((job) => job !== place)
    .map((job): QueuedJob => passed.includes(job) ? { ...job, passed: true } : job);
  return {
    state: { ...state, active: [...state.active, slot], queued },
    decision: { kind: "acquired", slot, staleTakeoverCount: state.staleTakeoverCount },
  };
}

/** When something may change without anybody writing: a lease runs out, patience ends. */
function waiting(
  state: KeyState,
  turn: Turn,
  { policy }: AcquireRequest,
  now: number,
): AcquireDecision {
  const blocked = isBlocked(state, policy.stalePolicy, now);
  const instants = state.active.flatMap((slot) => [
    silentFrom(slot, policy.heartbeatIntervalMs),
    expiredFrom(slot),
  ]);
  if (turn.kind === "behind") instants.push(turn.until);
  const coming = instants.filter((at) => at > now);
  return {
    kind: "wait",
    why: turn.kind === "behind" ? "behind" : blocked ? "blocked" : "busy",
    ...(coming.length > 0 && { until: Math.min(...coming) }),
  };
}
