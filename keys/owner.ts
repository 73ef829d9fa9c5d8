/**
 * One owner at a time: the lease of a single seat, for work that only one of many processes may do.
 *
 * @module
 */

import { z } from "zod";
import { encodeJson, err, ok, type Result } from "../protocol/mod.ts";
import type { Change } from "./key_state.ts";
import { expiredFrom, grantLease, isExpired, type Lease } from "./lease.ts";

/** Who has the seat. */
export interface SeatHolder extends Lease {
  /** The process, for people. */
  readonly holder: string;
  /** Proof of ownership. */
  readonly token: string;
}

/** The seat: how often it was taken, and by whom it is held. */
export interface Seat {
  /** Grows with each owner: what a former owner does late can be told by it. */
  readonly term: number;
  /** The owner; absent when it has resigned. */
  readonly owner?: SeatHolder;
}

/** A claim to the seat; repeated by its owner, it renews the lease. */
export interface SeatClaim {
  /** The process, for people. */
  readonly holder: string;
  /** Made anew for each candidacy. */
  readonly token: string;
  /** How long the lease lasts from now. */
  readonly ttlMs: number;
}

/** What was decided about a claim. */
export type SeatDecision =
  /** The seat is the claimant's. */
  | { readonly kind: "elected"; readonly term: number; readonly lease: Lease }
  /** It is another's, at least until then. */
  | { readonly kind: "taken"; readonly by: string; readonly until: number };

/**
 * Decides about a claim to the seat.
 *
 * @example
 * ```ts
 * import { claimSeat } from "./owner.ts";
 * import assert from "node:assert/strict";
 *
 * const first = claimSeat(undefined, { holder: "a", token: "1", ttlMs: 5_000 }, 0);
 * assert.equal(first.decision.kind, "elected");
 * const second = claimSeat(first.state, { holder: "b", token: "2", ttlMs: 5_000 }, 4_000);
 * assert.equal(second.decision.kind, "taken");
 * const later = claimSeat(first.state, { holder: "b", token: "2", ttlMs: 5_000 }, 60_000);
 * assert.equal(later.decision.kind === "elected" && later.decision.term, 2);
 * ```
 */
export function claimSeat(
  seat: Seat | undefined,
  { holder, token, ttlMs }: SeatClaim,
  now: number,
): Change<Seat, SeatDecision> {
  const owner = seat?.owner;
  const own = owner?.token === token;
  if (owner !== undefined && !own && !isExpired(owner, now)) {
    const taken = { kind: "taken", by: owner.holder, until: expiredFrom(owner) } as const;
    return { state: seat, decision: taken };
  }
  const lease = grantLease(ttlMs, now);
  const term = (seat?.term ?? 0) + (own ? 0 : 1);
  return {
    state: { term, owner: { holder, token, ...lease } },
    decision: { kind: "elected", term, lease },
  };
}

/** Leaves the seat, so that the next need not wait for the lease to run out. */
export function resignSeat(
  seat: Seat | undefined,
  token: string,
): Change<Seat, { readonly kind: "resigned" | "not-owner" }> {
  if (seat?.owner?.token !== token) return { state: seat, decision: { kind: "not-owner" } };
  return { state: { term: seat.term }, decision: { kind: "resigned" } };
}

const seatSchema = z.object({
  version: z.literal(1),
  term: z.int().positive(),
  owner: z.object({
    holder: z.string(),
    token: z.string(),
    heartbeatAt: z.iso.datetime(),
    leaseExpiresAt: z.iso.datetime(),
  }).exactOptional(),
});

/** Writes the seat as a bucket keeps it. */
export function encodeSeat({ term, owner }: Seat): Uint8Array {
  const text = (instant: number) => new Date(instant).toISOString();
  const encoded = encodeJson({
    version: 1,
    term,
    ...(owner !== undefined && {
      owner: {
        ...owner,
        heartbeatAt: text(owner.heartbeatAt),
        leaseExpiresAt: text(owner.leaseExpiresAt),
      },
    }),
  });
  if (!encoded.ok) throw new TypeError(`Cannot write the seat: ${encoded.error.message}`);
  return encoded.value;
}

/** Reads the seat; what cannot be read is not taken for free. */
export function decodeSeat(data: Uint8Array): Result<Seat, string> {
  try {
    const { term, owner } = seatSchema.parse(JSON.parse(new TextDecoder().decode(data)));
    if (owner === undefined) return ok({ term });
    const { heartbeatAt, leaseExpiresAt, ...who } = owner;
    const [heard, ends] = [Date.parse(heartbeatAt), Date.parse(leaseExpiresAt)];
    return ok({ term, owner: { ...who, heartbeatAt: heard, leaseExpiresAt: ends } });
  } catch (cause) {
    return err(cause instanceof Error ? cause.message : String(cause));
  }
}
