/**
 * A try that runs in a slot of its key, and whether its handler still does.
 *
 * @module
 */

import type { JobConcurrency } from "../protocol/mod.ts";
import type { JobLease } from "./active_job.ts";
import type { HeldSlot, JobKey } from "./key_port.ts";

/** A try that runs in a slot. */
export interface KeyedTry {
  /** The key. */
  readonly key: JobKey;
  /** The slot. */
  readonly slot: HeldSlot;
  /** What the start of the try says of the slot. */
  started(): JobConcurrency;
  /** What the end of the try says of it: the token alone proves who wrote the end. */
  ended(): JobConcurrency;
  /** The lease as handlers see it. */
  lease(): JobLease;
  /** Watches what a handler returned, and gives it back. */
  watch(returned: unknown): unknown;
  /** Whether the handler has not returned yet, though the worker may no longer wait for it. */
  handlerRuns(): boolean;
  /** Resolves when the handler has returned. */
  handlerReturned(): Promise<void>;
}

/** Makes the try of a job that has got its slot. */
export function createKeyedTry(
  { key, keyHash }: JobKey,
  slot: HeldSlot,
  instanceId: string,
): KeyedTry {
  const { slotToken, staleTakeoverCount } = slot;
  const lease = (): JobLease => {
    const { heartbeatAt, leaseExpiresAt } = slot.lease();
    return { heartbeatAt: text(heartbeatAt), leaseExpiresAt: text(leaseExpiresAt) };
  };
  let runs = false;
  let returned: Promise<void> = Promise.resolve();
  return {
    key: { key, keyHash },
    slot,
    started: () => ({ key, keyHash, slotToken, instanceId, ...lease(), staleTakeoverCount }),
    ended: () => ({ key, keyHash, slotToken }),
    lease,
    watch(value) {
      if (!(value instanceof Promise)) return value;
      runs = true;
      const over = () => void (runs = false);
      returned = value.then(over, over);
      return value;
    },
    handlerRuns: () => runs,
    handlerReturned: () => returned,
  };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
