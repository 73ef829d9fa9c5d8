/**
 * The history of keyed jobs, as their keys need it: what became of one, and how one is pushed aside.
 *
 * @module
 */

import { readLast } from "../nats/mod.ts";
import {
  isTerminal,
  type Job,
  type JobEvent,
  jobFilter,
  JOBS_STREAM,
  lifecycleSubject,
  type QueueAddress,
  type SequencedEvent,
} from "../protocol/mod.ts";
import { type CommandError, guardedWrite, sharedFields } from "./guarded_write.ts";
import type { JobKey, KeyedFate, KeyedHistory, SupersededSlot } from "./key_port.ts";
import { believed, type Lifecycle } from "./lifecycle.ts";
import { isGuarded } from "./_replica_proof.ts";

/** What the queue itself needs beside. */
export interface KeyedJobs extends KeyedHistory {
  /** Stores `skipped` for a job that another replaced, unless its history says otherwise. */
  skip(jobId: string, key: JobKey, byJobId: string): Promise<void>;
}

/** How long the server may be away before a look-up fails. */
const BUDGET_MS = 15_000;

/** Opens the history of a queue's jobs. */
export function openKeyedHistory(
  lifecycle: Lifecycle,
  queue: QueueAddress,
  clock: () => number = Date.now,
): KeyedJobs {
  const address = (jobId: string) => ({ ...queue, jobId });
  const newest = async (subject: string): Promise<SequencedEvent | undefined> => {
    const giveUpAt = Date.now() + BUDGET_MS;
    const read = await readLast(lifecycle.connection, JOBS_STREAM, subject, { giveUpAt });
    return believed(read)[0];
  };
  const fate = async (jobId: string): Promise<KeyedFate> => {
    const job = address(jobId);
    const last = await newest(jobFilter(job));
    if (last !== undefined && tellsAll(last.event, lifecycle)) return fateAfter(last.event);
    const snapshot = await lifecycle.read(job, BUDGET_MS);
    if (snapshot === undefined) return { kind: "absent" };
    const { state, concurrency } = snapshot.job;
    if (!isTerminal(state)) return { ...fateOf(state), ...tokenOf(concurrency) };
    // The fold keeps the token of the start; whose hand wrote the end, only the end itself tells.
    const end = await newest(lifecycleSubject(job, state));
    return end === undefined ? { kind: "ended", state } : fateAfter(end.event);
  };
  return {
    fate,
    async supersede(superseded) {
      const { jobId, slotToken } = superseded.slot;
      const written = await guardedWrite(lifecycle, address(jobId), {
        verb: "supersede",
        from: ["active"],
        applies: ({ concurrency }) => (concurrency?.slotToken ?? slotToken) === slotToken,
        build: (job, now) => staleEvent(job, superseded, now),
        clock,
      });
      if (written.ok) return { kind: "ended", state: "stale", slotToken };
      const { reason } = written.error;
      if (reason === "not-found") return { kind: "absent" };
      if (reason === "wrong-state") return await fate(jobId);
      throw written.error;
    },
    async skip(jobId, key, byJobId) {
      const written = await guardedWrite(lifecycle, address(jobId), {
        verb: "skip",
        from: ["pending", "retry"],
        build: (job, now) => skippedEvent(job, key, byJobId, now),
        clock,
      });
      if (!written.ok && !isVerdict(written.error)) throw written.error;
    },
  };
}

/** Whoever began or ended the job meanwhile has settled it. */
function isVerdict({ reason }: CommandError): boolean {
  return reason === "wrong-state" || reason === "not-found";
}

/**
 * A guarded event was stored only because nothing came in between, so it tells the state by itself.
 * Where the server cannot compare, only a job that nobody has begun is told by its one event.
 */
function tellsAll(event: JobEvent, { capabilities }: Lifecycle): boolean {
  return capabilities.lifecycleCompareAndSet
    ? isGuarded(event.eventType)
    : event.eventType === "created";
}

function fateAfter(event: JobEvent): KeyedFate {
  return { ...fateOf(event.state), ...tokenOf("concurrency" in event ? event.concurrency : {}) };
}

function fateOf(state: JobEvent["state"]): KeyedFate {
  if (isTerminal(state)) return { kind: "ended", state };
  return { kind: state === "active" ? "active" : "waiting" };
}

function tokenOf(concurrency: { readonly slotToken?: string } = {}): { slotToken?: string } {
  return concurrency.slotToken === undefined ? {} : { slotToken: concurrency.slotToken };
}

function staleEvent(job: Job, superseded: SupersededSlot, now: number): JobEvent {
  const { key: { key, keyHash }, slot, staleTakeoverCount, actor } = superseded;
  const { slotToken, instanceId, heartbeatAt, leaseExpiresAt } = slot;
  const error = actor === undefined
    ? `the lease of ${instanceId} ran out, and the next job of key ${key} took its slot`
    : `${actor} took the slot of key ${key} from ${instanceId}`;
  return {
    ...sharedFields(job, now),
    tries: job.tries,
    eventType: "stale",
    state: "stale",
    error,
    concurrency: {
      ...{ key, keyHash, slotToken, instanceId, staleTakeoverCount },
      heartbeatAt: new Date(heartbeatAt).toISOString(),
      leaseExpiresAt: new Date(leaseExpiresAt).toISOString(),
    },
    ...(actor !== undefined && { actor }),
  };
}

function skippedEvent(job: Job, { key, keyHash }: JobKey, byJobId: string, now: number): JobEvent {
  return {
    ...sharedFields(job, now),
    tries: job.tries,
    eventType: "skipped",
    state: "skipped",
    error: `job ${byJobId} took its place in the line of key ${key}`,
    concurrency: { key, keyHash },
  };
}
