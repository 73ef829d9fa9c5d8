/**
 * A slot in the hands of the worker that runs its job: kept until it is given up or lost.
 *
 * @module
 */

import type { Result } from "../protocol/mod.ts";
import type { Acquired, Acquisition, Keys } from "./coordinator.ts";
import { keepLease, type Renewal } from "./keep_lease.ts";
import type { KeyError } from "./key_error.ts";
import { heldUntil, type Lease } from "./lease.ts";

/** A slot that is kept. */
export interface HeldSlot {
  /** Proof of ownership. */
  readonly slotToken: string;
  /** How often a stale owner of the key was superseded. */
  readonly staleTakeoverCount: number;
  /** The lease as it was last renewed. */
  lease(): Lease;
  /** Renews the lease now; tells whether the slot is held. */
  renew(): Promise<boolean>;
  /** Tells whether the slot is held; renews only if that was longer ago than an interval. */
  confirm(): Promise<boolean>;
  /**
   * Says that the handler outlives its try, so that the end of the job does not free the slot; it is
   * kept on. Tells whether that is stored.
   */
  linger(): Promise<boolean>;
  /** Gives the slot up: its job has ended, and so has its handler. */
  release(): Promise<void>;
  /** Gives the slot up for a job that will come back, at the earliest at that instant. */
  handBack(notBefore?: number): Promise<void>;
}

/** What keeping a slot needs. */
export interface HoldOptions {
  /** The keys of the queue. */
  readonly keys: Keys;
  /** What the job asked for. */
  readonly acquisition: Acquisition;
  /** What it got. */
  readonly acquired: Extract<Acquired, { readonly kind: "acquired" }>;
  /** Called once, when the slot is lost. */
  readonly onLost: (why: string) => void;
  /** Told when the slot could not be given up: its lease will free it. */
  readonly onTrouble: (error: KeyError) => void;
}

/** Begins to keep a slot. */
export function holdSlot(options: HoldOptions): HeldSlot {
  const { keys, acquisition, acquired, onLost, onTrouble } = options;
  const { key, jobId, slotToken } = acquisition;
  const claim = { jobId, slotToken };
  const intervalMs = keys.policy.heartbeatIntervalMs;
  let lingering: true | undefined;
  const renew = async (): Promise<Renewal> => {
    const renewed = await keys.renew(key, claim, lingering);
    if (!renewed.ok) return { kind: "unknown", why: renewed.error.message };
    return renewed.value.kind === "renewed"
      ? renewed.value
      : { kind: "lost", why: `the slot of key ${key.key} is another's` };
  };
  const kept = keepLease({
    lease: acquired.slot,
    intervalMs,
    heldUntil: (lease) => heldUntil(lease, intervalMs),
    renew,
    onLost,
  });
  const give = async (giving: Promise<Result<unknown, KeyError>>): Promise<void> => {
    // No renewal may follow: it would find the slot gone and call it lost.
    kept.stop();
    const given = await giving;
    if (!given.ok) onTrouble(given.error);
  };
  return {
    slotToken,
    staleTakeoverCount: acquired.staleTakeoverCount,
    lease: kept.lease,
    renew: kept.renew,
    confirm: kept.confirm,
    async linger() {
      lingering = true;
      if (kept.isLost()) return false;
      // By itself: a renewal that is under way does not say it yet.
      return isRenewed(await keys.renew(key, claim, lingering));
    },
    release: () => give(keys.release(key, claim)),
    handBack: (notBefore) => give(keys.handBack(key, claim, notBefore)),
  };
}

function isRenewed(renewed: Result<{ readonly kind: string }, KeyError>): boolean {
  return renewed.ok && renewed.value.kind === "renewed";
}
