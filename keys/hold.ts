/**
 * Keeping a slot and giving it up: only its owner may, and the token proves who that is.
 *
 * @module
 */

import {
  atItsPlace,
  type Change,
  type KeyState,
  requeued,
  tidied,
  withoutSlot,
} from "./key_state.ts";
import { grantLease, type Lease } from "./lease.ts";

/** A slot, by its job and its token. */
export interface SlotClaim {
  /** The job. */
  readonly jobId: string;
  /** Proof of ownership. */
  readonly slotToken: string;
}

/** Nothing was done: the slot is not, or no longer, this owner's. */
export interface NotOwner {
  /** The discriminant. */
  readonly kind: "not-owner";
}

/** What was decided about a renewal. */
export type RenewDecision = { readonly kind: "renewed"; readonly lease: Lease } | NotOwner;

/** A renewal. */
export interface RenewRequest extends SlotClaim {
  /** How long the lease lasts from now. */
  readonly ttlMs: number;
  /** The handler outlives its try: the slot is kept for it. */
  readonly lingering?: true;
}

/** Renews a lease. One that has run out and that nobody took is still its owner's. */
export function renew(
  state: KeyState | undefined,
  { ttlMs, lingering, ...claim }: RenewRequest,
  now: number,
): Change<KeyState, RenewDecision> {
  const slot = slotOf(state, claim);
  if (state === undefined || slot === undefined) return notOwner(state);
  const lease = grantLease(ttlMs, now);
  const renewed = { ...slot, ...lease, ...(lingering === true && { lingering }) };
  const active = state.active.map((other) => other === slot ? renewed : other);
  return { state: { ...state, active }, decision: { kind: "renewed", lease } };
}

/** What was decided about giving up a slot. */
export type ReleaseDecision = { readonly kind: "released" } | NotOwner;

/** Gives up a slot whose job has ended. */
export function release(
  state: KeyState | undefined,
  claim: SlotClaim,
  now: number,
): Change<KeyState, ReleaseDecision> {
  const slot = slotOf(state, claim);
  if (state === undefined || slot === undefined) return notOwner(state);
  return {
    state: tidied(withoutSlot(state, slot.slotToken, now)),
    decision: { kind: "released" },
  };
}

/** A slot whose job will come back. */
export interface HandBackRequest extends SlotClaim {
  /** When it comes back, if it waits; later jobs pass it until then. */
  readonly notBefore?: number;
}

/** Gives up a slot whose job will come back: it gets its place in line again. */
export function handBack(
  state: KeyState | undefined,
  { notBefore, ...claim }: HandBackRequest,
  now: number,
): Change<KeyState, ReleaseDecision> {
  const slot = slotOf(state, claim);
  if (state === undefined || slot === undefined) return notOwner(state);
  const left = withoutSlot(state, slot.slotToken, now);
  return {
    state: { ...left, queued: atItsPlace(left.queued, requeued(slot, notBefore)) },
    decision: { kind: "released" },
  };
}

/** A job that will not run. */
export interface WithdrawRequest {
  /** The job. */
  readonly jobId: string;
  /** The token on the job's last event, if its own worker wrote that: the slot goes too. */
  readonly endedWith?: string;
}

/** What was decided about a withdrawal. */
export type WithdrawDecision = { readonly kind: "withdrawn" } | { readonly kind: "nothing" };

/** Takes a job out of the line: it was not created after all, or has ended. */
export function withdraw(
  state: KeyState | undefined,
  { jobId, endedWith }: WithdrawRequest,
  now: number,
): Change<KeyState, WithdrawDecision> {
  const queued = state?.queued.filter((job) => job.jobId !== jobId) ?? [];
  const slot = state?.active.find((slot) =>
    slot.jobId === jobId && slot.slotToken === endedWith && slot.lingering !== true
  );
  if (state === undefined || (queued.length === state.queued.length && slot === undefined)) {
    return { state, decision: { kind: "nothing" } };
  }
  const left = slot === undefined ? state : withoutSlot(state, slot.slotToken, now);
  return { state: tidied({ ...left, queued }), decision: { kind: "withdrawn" } };
}

function slotOf(state: KeyState | undefined, { jobId, slotToken }: SlotClaim) {
  return state?.active.find((slot) => slot.jobId === jobId && slot.slotToken === slotToken);
}

function notOwner(state: KeyState | undefined): Change<KeyState, NotOwner> {
  return { state, decision: { kind: "not-owner" } };
}
