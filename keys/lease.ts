/**
 * Leases: who holds something, since when it was last heard, and until when nobody else may take it.
 *
 * Instants are numbers (milliseconds since 1970), because texts do not compare as times.
 *
 * @module
 */

/** The right to something, for a while. */
export interface Lease {
  /** Last renewal, by the holder's clock. */
  readonly heartbeatAt: number;
  /** Until then nobody else may take it; the holder itself stops no later, by its own clock. */
  readonly leaseExpiresAt: number;
}

/**
 * How far two clocks may be apart: the holder stops when its lease runs out by its own clock, anyone
 * else waits for so much longer by theirs.
 */
export const SKEW_TOLERANCE_MS = 1_000;

/** Renewals that a living holder may miss before it is thought dead. */
const MISSED_RENEWALS = 2;
/** Renewals at the end of a lease that are kept for the redelivery of the same work. */
const RESERVED_RENEWALS = 3;

/**
 * Gives a lease that begins now.
 *
 * @example
 * ```ts
 * import { grantLease, isExpired, SKEW_TOLERANCE_MS } from "./lease.ts";
 * import assert from "node:assert/strict";
 *
 * const lease = grantLease(5_000, 100);
 * assert.deepEqual(lease, { heartbeatAt: 100, leaseExpiresAt: 5_100 });
 * assert.equal(isExpired(lease, 5_101), false);
 * assert.equal(isExpired(lease, 5_101 + SKEW_TOLERANCE_MS), true);
 * ```
 */
export function grantLease(ttlMs: number, now: number): Lease {
  return { heartbeatAt: now, leaseExpiresAt: now + ttlMs };
}

/** The first instant at which somebody else may call the lease expired. */
export function expiredFrom({ leaseExpiresAt }: Lease): number {
  return leaseExpiresAt + SKEW_TOLERANCE_MS + 1;
}

/** Tells whether somebody else may take what the lease is for. */
export function isExpired(lease: Lease, now: number): boolean {
  return now >= expiredFrom(lease);
}

/** The first instant at which the holder has missed its renewals: worth a look at what became of it. */
export function silentFrom({ heartbeatAt }: Lease, intervalMs: number): number {
  return heartbeatAt + MISSED_RENEWALS * intervalMs + SKEW_TOLERANCE_MS + 1;
}

/**
 * The instant at which a holder stops that has not renewed, some renewals before its lease runs out.
 * In between, the slot is still kept from others, but the same work may be begun anew: that is how a
 * job whose worker died gets its own slot back when it is delivered again.
 *
 * @example
 * ```ts
 * import { grantLease, heldUntil } from "./lease.ts";
 * import assert from "node:assert/strict";
 *
 * // The defaults of a queue: redelivery after 300 s, renewal every 30 s, a lease of 390 s.
 * assert.equal(heldUntil(grantLease(390_000, 0), 30_000), 300_000);
 * ```
 */
export function heldUntil({ heartbeatAt, leaseExpiresAt }: Lease, intervalMs: number): number {
  const early = leaseExpiresAt - RESERVED_RENEWALS * intervalMs;
  return Math.min(leaseExpiresAt, Math.max(early, heartbeatAt + MISSED_RENEWALS * intervalMs));
}

/** The first instant at which the holder has stopped, whatever its clock says. */
export function stoppedFrom(lease: Lease, intervalMs: number): number {
  return heldUntil(lease, intervalMs) + SKEW_TOLERANCE_MS + 1;
}
