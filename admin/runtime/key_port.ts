/**
 * Keys for an operator: `keys/` decides, and the history of jobs answers it.
 *
 * @module
 */

import { openKeyedHistory } from "../../jobs/keyed_history.ts";
import type { Lifecycle } from "../../jobs/mod.ts";
import {
  type KeyedJobs,
  type KeyError,
  type KeyPolicy,
  type Keys,
  openKeys,
} from "../../keys/mod.ts";
import { err, ok, type QueueAddress } from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type { KeyPort } from "../ports.ts";

/** Rules are for taking slots; whoever only looks at them and takes them away needs none of its own. */
const LOOKING_POLICY: KeyPolicy = {
  maxActive: 1,
  maxQueuedPerKey: 0,
  heartbeatIntervalMs: 30_000,
  heartbeatTtlMs: 390_000,
  stalePolicy: "block",
};

/** Opens a queue's keys for somebody who runs none of its jobs. */
export function openForeignKeys(
  lifecycle: Lifecycle,
  queue: QueueAddress,
): { readonly keys: Keys; readonly jobs: KeyedJobs } {
  const { connection, publisher } = lifecycle;
  const jobs: KeyedJobs = openKeyedHistory(lifecycle, queue);
  return { jobs, keys: openKeys({ connection, publisher, queue, policy: LOOKING_POLICY, jobs }) };
}

/** Opens keys for an operator. */
export function createKeyPort(lifecycle: Lifecycle): KeyPort {
  return {
    async read(queue, keyHash) {
      const read = await openForeignKeys(lifecycle, queue).keys.read({ keyHash });
      return read.ok ? read : err(fromKeyError(read.error));
    },
    async release({ queue, state, jobId, actor }) {
      const slot = state.active.find((each) => each.jobId === jobId);
      const which = slot === undefined ? {} : { slotToken: slot.slotToken };
      const released = await openForeignKeys(lifecycle, queue).keys.revoke(state, {
        ...which,
        actor,
      });
      if (!released.ok) return err(fromKeyError(released.error));
      return ok(released.value.map((each) => each.jobId));
    },
  };
}

function fromKeyError({ reason, message, retryable }: KeyError): AdminError {
  return new AdminError(retryable ? "busy" : "unavailable", message, { reason });
}
