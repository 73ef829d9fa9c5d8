/**
 * Keeping a lease by renewing it in time, and telling at once when it is lost.
 *
 * @module
 */

import { errorMessage } from "../nats/mod.ts";
import type { Lease } from "./lease.ts";

/** What became of one renewal. */
export type Renewal =
  /** The lease goes on. */
  | { readonly kind: "renewed"; readonly lease: Lease }
  /** Somebody else has, or may have, what it was for. */
  | { readonly kind: "lost"; readonly why: string }
  /** Nobody answered. */
  | { readonly kind: "unknown"; readonly why: string };

/** What keeping a lease needs. */
export interface KeepLeaseOptions {
  /** The lease as it was granted. */
  readonly lease: Lease;
  /** How often it is renewed. */
  readonly intervalMs: number;
  /** When the holder stops that has not renewed; when the lease runs out, if left out. */
  readonly heldUntil?: (lease: Lease) => number;
  /** Renews it once. */
  readonly renew: () => Promise<Renewal>;
  /** Called once, when the lease is lost or has run out without an answer. */
  readonly onLost: (why: string) => void;
  /** The present instant, of the clock that the lease was granted by. */
  readonly clock?: () => number;
}

/** A lease that is being kept. */
export interface KeptLease {
  /** As it was last renewed. */
  lease(): Lease;
  /** Whether it is known to be lost. */
  isLost(): boolean;
  /** Renews it now; tells whether it is held. Joins a renewal that is under way. */
  renew(): Promise<boolean>;
  /** Tells whether it is held; renews it only if the last renewal is longer ago than an interval. */
  confirm(): Promise<boolean>;
  /** Stops renewing; the lease itself is given up elsewhere. */
  stop(): void;
}

/**
 * A process that slept past the end of its lease may still have it, if nobody took it meanwhile: one
 * renewal tells, and this is how long it may take.
 */
const LATE_ANSWER_MS = 500;
/** Timers count in 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** Unanswered renewals are repeated so many times per interval. */
const REPEATS_PER_INTERVAL = 4;

/** Begins to renew a lease. */
export function keepLease(options: KeepLeaseOptions): KeptLease {
  const { intervalMs, onLost, clock = Date.now } = options;
  const { heldUntil = (lease: Lease) => lease.leaseExpiresAt } = options;
  let { lease } = options;
  let ended = false;
  let lost = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let underWay: Promise<boolean> | undefined;

  const lose = (why: string): false => {
    if (!ended) {
      ended = lost = true;
      clearTimeout(timer);
      onLost(why);
    }
    return false;
  };
  const schedule = (waitMs: number) => {
    clearTimeout(timer);
    if (!ended) timer = setTimeout(renew, waitMs);
  };
  const attempt = async (): Promise<boolean> => {
    const waitMs = Math.min(Math.max(heldUntil(lease) - clock(), LATE_ANSWER_MS), LONGEST_TIMER_MS);
    const renewal = await answered(options.renew, waitMs);
    if (ended) return !lost;
    if (renewal.kind === "lost") return lose(renewal.why);
    if (renewal.kind === "renewed") {
      lease = renewal.lease;
      schedule(intervalMs);
      return true;
    }
    const leftMs = heldUntil(lease) - clock();
    if (leftMs <= 0) return lose(`it was not renewed in time: ${renewal.why}`);
    schedule(Math.min(intervalMs / REPEATS_PER_INTERVAL, leftMs));
    return true;
  };
  const renew = (): Promise<boolean> => {
    if (ended) return Promise.resolve(!lost);
    underWay ??= attempt().finally(() => underWay = undefined);
    return underWay;
  };

  schedule(intervalMs);
  return {
    lease: () => lease,
    isLost: () => lost,
    renew,
    confirm: () => clock() - lease.heartbeatAt < intervalMs ? Promise.resolve(!lost) : renew(),
    stop() {
      ended = true;
      clearTimeout(timer);
    },
  };
}

/** Waits for a renewal, but not longer. */
async function answered(renew: () => Promise<Renewal>, waitMs: number): Promise<Renewal> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<Renewal>((resolve) => {
    timer = setTimeout(() => resolve({ kind: "unknown", why: "no answer in time" }), waitMs);
  });
  try {
    return await Promise.race([renew(), late]);
  } catch (thrown) {
    return { kind: "unknown", why: errorMessage(thrown) };
  } finally {
    clearTimeout(timer);
  }
}
