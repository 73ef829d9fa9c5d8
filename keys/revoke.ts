/**
 * Freeing a key by hand: what an operator does when its owner never will.
 *
 * @module
 */

import type { JobFates, Needed } from "./fate.ts";
import { type ActiveSlot, type Change, type KeyState, tidied } from "./key_state.ts";
import { reclaim, superseding } from "./reclaim.ts";

/** Slots to be taken away. */
export interface RevokeRequest {
  /** One slot; all of them when left out. */
  readonly slotToken?: string;
  /** What is known of their jobs. */
  readonly fates: JobFates;
}

/** What was decided about slots to be taken away. */
export type RevokeDecision =
  /** These are free. */
  | { readonly kind: "revoked"; readonly slots: readonly ActiveSlot[] }
  | Needed;

/**
 * Takes slots from their owners, whatever their leases say. Their jobs are `stale` first, so that an
 * owner that lives learns that it is none.
 */
export function revoke(
  state: KeyState | undefined,
  { slotToken, fates }: RevokeRequest,
  now: number,
): Change<KeyState, RevokeDecision> {
  if (state === undefined) return { state, decision: { kind: "revoked", slots: [] } };
  const meant = (slot: ActiveSlot) => slotToken === undefined || slot.slotToken === slotToken;
  const slots = state.active.filter(meant);
  const unknown = slots.map(({ jobId }) => jobId).filter((jobId) => !fates.has(jobId));
  if (unknown.length > 0) return { state, decision: { kind: "ask", jobIds: unknown } };
  const options = { fates, stalePolicy: "block", revoked: meant } as const;
  const { state: left, supersede } = reclaim(state, options, now);
  if (supersede.length > 0) return { state, decision: superseding(left, supersede) };
  return {
    state: left === state ? state : tidied(left),
    decision: { kind: "revoked", slots },
  };
}
