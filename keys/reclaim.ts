/**
 * Which slots and reservations have nobody behind them any more.
 *
 * @module
 */

import type { StalePolicy } from "../protocol/mod.ts";
import type { JobFate, JobFates, Needed } from "./fate.ts";
import {
  type ActiveSlot,
  atItsPlace,
  type KeyPolicy,
  type KeyState,
  type QueuedJob,
  requeued,
  withoutSlot,
} from "./key_state.ts";
import { isExpired, silentFrom } from "./lease.ts";

/**
 * How long a reservation stands without a `created` event. Longer than a create is repeated (15 s),
 * than its last answer may take, and than clocks differ.
 */
export const RESERVATION_GRACE_MS = 30_000;

/** What reclaiming depends on. */
export interface ReclaimOptions {
  /** What is known of the jobs. */
  readonly fates: JobFates;
  /** What happens to expired leases. */
  readonly stalePolicy: StalePolicy;
  /** Slots that an operator takes away, whatever their lease says. */
  readonly revoked?: (slot: ActiveSlot) => boolean;
}

/** What is left when everything without an owner is taken out. */
export interface Reclaimed {
  /** The state; the very one that was given when there was nothing to take out. */
  readonly state: KeyState;
  /** Slots that are free as soon as `stale` is stored for their jobs. */
  readonly supersede: readonly ActiveSlot[];
}

/** Takes out what nobody stands behind, as far as the fates tell. */
export function reclaim(state: KeyState, options: ReclaimOptions, now: number): Reclaimed {
  const { fates } = options;
  const supersede: ActiveSlot[] = [];
  const gone = state.queued.filter((job) => isGone(job, fates.get(job.jobId), now));
  let left = gone.length === 0
    ? state
    : { ...state, queued: state.queued.filter((job) => !gone.includes(job)) };
  for (const slot of state.active) {
    const verdict = judgeSlot(slot, options, now);
    if (verdict === "supersede") supersede.push(slot);
    if (verdict === "keep" || verdict === "supersede") continue;
    left = withoutSlot(left, slot.slotToken, now);
    if (verdict === "requeue") left = { ...left, queued: atItsPlace(left.queued, requeued(slot)) };
    if (verdict === "superseded") {
      left = { ...left, staleTakeoverCount: left.staleTakeoverCount + 1 };
    }
  }
  return { state: left, supersede };
}

/** Asks for `stale` to be stored for the jobs of ownerless slots. */
export function superseding(
  { staleTakeoverCount }: KeyState,
  slots: readonly ActiveSlot[],
): Needed {
  return { kind: "supersede", slots, staleTakeoverCount };
}

/** Slots whose holders are expired or have missed their renewals: worth a look at their jobs. */
export function suspects(
  state: KeyState,
  { heartbeatIntervalMs }: KeyPolicy,
  now: number,
): ActiveSlot[] {
  return state.active.filter((slot) =>
    isExpired(slot, now) || now >= silentFrom(slot, heartbeatIntervalMs)
  );
}

/** Tells whether an expired slot keeps the key from others until its owner or an operator frees it. */
export function isBlocked(state: KeyState, stalePolicy: StalePolicy, now: number): boolean {
  return stalePolicy === "block" && state.active.some((slot) => isExpired(slot, now));
}

type SlotVerdict = "keep" | "drop" | "requeue" | "supersede" | "superseded";

function judgeSlot(
  slot: ActiveSlot,
  { fates, stalePolicy, revoked }: ReclaimOptions,
  now: number,
): SlotVerdict {
  const fate = fates.get(slot.jobId);
  if (fate === undefined) return "keep";
  if (endedByItsOwner(slot, fate)) return "drop";
  // Whoever else ended the job cannot know whether its handler has returned: the lease decides.
  const lapsed = isExpired(slot, now) && stalePolicy === "fail-stale";
  return lapsed || revoked?.(slot) === true ? judgeOwnerless(slot, fate) : "keep";
}

/** A worker writes the end after its handler has returned, or says first that it lingers. */
function endedByItsOwner(slot: ActiveSlot, fate: JobFate): boolean {
  return fate.kind === "ended" && fate.state !== "stale" && fate.slotToken === slot.slotToken &&
    slot.lingering !== true;
}

function judgeOwnerless(slot: ActiveSlot, fate: JobFate): SlotVerdict {
  switch (fate.kind) {
    case "absent":
      return "drop";
    case "waiting":
      return "requeue";
    case "active":
      // Started in another slot: this one was acquired for the next try, which never began.
      return (fate.slotToken ?? slot.slotToken) === slot.slotToken ? "supersede" : "requeue";
    case "ended":
      return fate.state === "stale" ? "superseded" : "drop";
  }
}

function isGone({ createdAt }: QueuedJob, fate: JobFate | undefined, now: number): boolean {
  if (fate?.kind === "ended") return true;
  return fate?.kind === "absent" && now > createdAt + RESERVATION_GRACE_MS;
}
