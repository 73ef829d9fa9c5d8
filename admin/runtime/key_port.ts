/**
 * Keys for an operator: `keys/` decides, and the history of jobs answers it.
 *
 * @module
 */

import type { Lifecycle } from "../../jobs/mod.ts";
import {
  type JobFate,
  type KeyedJobs,
  type KeyError,
  type KeyPolicy,
  openKeys,
  type Supersession,
} from "../../keys/mod.ts";
import {
  err,
  isTerminal,
  type Job,
  type JobEvent,
  ok,
  type QueueAddress,
} from "../../protocol/mod.ts";
import { AdminError } from "../errors.ts";
import type { KeyPort } from "../ports.ts";

/** Rules are for taking slots; whoever only looks at them and takes them away needs none of its own. */
export const LOOKING_POLICY: KeyPolicy = {
  maxActive: 1,
  maxQueuedPerKey: 0,
  heartbeatIntervalMs: 30_000,
  heartbeatTtlMs: 390_000,
  stalePolicy: "block",
};
const MOST_RACES = 10;

/** Opens keys for an operator. */
export function createKeyPort(lifecycle: Lifecycle): KeyPort {
  const { connection, publisher } = lifecycle;
  const open = (queue: QueueAddress, jobs: KeyedJobs) =>
    openKeys({ connection, publisher, queue, policy: LOOKING_POLICY, jobs });
  return {
    async read(queue, keyHash) {
      const read = await open(queue, keyedJobs(lifecycle, queue, undefined)).read({ keyHash });
      return read.ok ? read : err(fromKeyError(read.error));
    },
    async release({ queue, state, jobId, actor }) {
      const keys = open(queue, keyedJobs(lifecycle, queue, actor));
      const slot = state.active.find((each) => each.jobId === jobId);
      const released = await keys.revoke(state, slot?.slotToken);
      if (!released.ok) return err(fromKeyError(released.error));
      return ok(released.value.map((each) => each.jobId));
    },
  };
}

/** The history of a queue's jobs, as keys ask for it. */
export function keyedJobs(
  lifecycle: Lifecycle,
  { service, jobType }: QueueAddress,
  actor: string | undefined,
): KeyedJobs {
  const read = (jobId: string) => lifecycle.read({ service, jobType, jobId });
  return {
    async fate(jobId) {
      return fateOf((await read(jobId))?.job);
    },
    async supersede(supersession) {
      const { jobId, slotToken } = supersession.slot;
      for (let race = 0; race < MOST_RACES; race++) {
        const snapshot = await read(jobId);
        const fate = fateOf(snapshot?.job);
        if (snapshot === undefined || fate.kind !== "active") return fate;
        if (fate.slotToken !== undefined && fate.slotToken !== slotToken) return fate;
        const event = staleEvent(snapshot.job, supersession, actor);
        const expect = { lastSequence: snapshot.lastSequence };
        const written = await lifecycle.write(event, { expect });
        if (written.kind === "stored") return { kind: "ended", state: "stale" };
        if (written.kind !== "lost") throw new Error(`stale is not stored: ${written.kind}`);
      }
      throw new Error(`job ${jobId} keeps changing`);
    },
  };
}

/** What became of a job, as keys want to know it. */
export function fateOf(job: Job | undefined): JobFate {
  if (job === undefined) return { kind: "absent" };
  const token = job.concurrency?.slotToken;
  const slotToken = token === undefined ? {} : { slotToken: token };
  if (isTerminal(job.state)) return { kind: "ended", state: job.state, ...slotToken };
  return job.state === "active" ? { kind: "active", ...slotToken } : { kind: "waiting" };
}

function staleEvent(
  job: Job,
  { key: { key, keyHash }, slot, staleTakeoverCount }: Supersession,
  actor: string | undefined,
): JobEvent {
  return {
    jobId: job.id,
    service: job.service,
    jobType: job.type,
    context: job.context,
    tries: job.tries,
    previousState: job.state,
    timestamp: new Date().toISOString(),
    eventType: "stale",
    state: "stale",
    error: actor === undefined
      ? `the key ${key} was taken from it: its lease ran out`
      : `the key ${key} was released by ${actor}`,
    concurrency: {
      key,
      keyHash,
      slotToken: slot.slotToken,
      instanceId: slot.instanceId,
      leaseExpiresAt: new Date(slot.leaseExpiresAt).toISOString(),
      staleTakeoverCount,
    },
    ...(actor !== undefined && { actor }),
  };
}

function fromKeyError({ reason, message, retryable }: KeyError): AdminError {
  return new AdminError(retryable ? "busy" : "unavailable", message, { reason });
}
