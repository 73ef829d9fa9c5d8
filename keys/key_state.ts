/**
 * What is known of one key: who runs, who waits, in which order.
 *
 * @module
 */

import type { KeyConcurrencySettings, QueueDepthSettings, QueueSettings } from "../protocol/mod.ts";
import type { Lease } from "./lease.ts";

/** A key, and the queue it belongs to. */
export interface KeyIdentity {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly jobType: string;
  /** The key for people. */
  readonly key: string;
  /** The key for coordination. */
  readonly keyHash: string;
}

/** A queue's rules for each of its keys. */
export type KeyPolicy =
  & Pick<
    KeyConcurrencySettings,
    "maxActive" | "heartbeatIntervalMs" | "heartbeatTtlMs" | "stalePolicy"
  >
  & Pick<QueueDepthSettings, "maxQueuedPerKey">;

/** A job's place in the line of its key; it keeps it while it runs, and gets it back after. */
export interface KeyPlace {
  /** The job. */
  readonly jobId: string;
  /** When it came into the line. */
  readonly createdAt: number;
  /** The caller's request. */
  readonly requestId: string;
  /** Grows along the line. Clocks differ between producers, so the order is not left to them. */
  readonly place: number;
}

/** A job that waits. */
export interface QueuedJob extends KeyPlace {
  /** Later jobs pass it until then: the wait before a retry, or a snooze. */
  readonly notBefore?: number;
  /** Nobody claimed it when its turn had come; later jobs pass it until somebody does. */
  readonly passed?: true;
  /** Waiting jobs that had to give way to this one. */
  readonly replaces?: readonly string[];
}

/** A job that runs, and the lease of its slot. */
export interface ActiveSlot extends KeyPlace, Lease {
  /** Proof of ownership, made anew for each acquisition. */
  readonly slotToken: string;
  /** The worker process. */
  readonly instanceId: string;
  /** When it was acquired. */
  readonly startedAt: number;
  /** The number of the try. */
  readonly tries: number;
  /** The handler goes on although its worker no longer waits for it: only its return or the lease frees the slot. */
  readonly lingering?: true;
}

/** Everything about one key. */
export interface KeyState extends KeyIdentity {
  /** Jobs that may run at once, by the last writer's settings. */
  readonly maxActive: number;
  /** Jobs that may wait, by the last writer's settings. */
  readonly maxQueuedPerKey: number;
  /** The jobs that run. */
  readonly active: readonly ActiveSlot[];
  /** The jobs that wait, in the order of their places. */
  readonly queued: readonly QueuedJob[];
  /** How often a stale owner was superseded. */
  readonly staleTakeoverCount: number;
  /** When a slot was last given up. */
  readonly freedAt?: number;
}

/** What every request says: which key, and by which rules. */
export interface KeyRequest {
  /** The key. */
  readonly key: KeyIdentity;
  /** Its rules. */
  readonly policy: KeyPolicy;
}

/**
 * A decision, and the state that follows from it. The very state that was given means that nothing
 * is to be written, `undefined` that the entry is to be deleted.
 */
export interface Change<State, Decision> {
  /** The state after the decision. */
  readonly state: State | undefined;
  /** What was decided. */
  readonly decision: Decision;
}

/** Gives the rules of a queue's keys, or `undefined` when it has none. */
export function keyPolicy({ keyConcurrency, queue }: QueueSettings): KeyPolicy | undefined {
  if (keyConcurrency === undefined) return undefined;
  const { maxActive, heartbeatIntervalMs, heartbeatTtlMs, stalePolicy } = keyConcurrency;
  const maxQueuedPerKey = queue?.maxQueuedPerKey ?? 0;
  return { maxActive, heartbeatIntervalMs, heartbeatTtlMs, stalePolicy, maxQueuedPerKey };
}

/** The state to decide on: what is stored or an empty one, with the rules of the request. */
export function openState(
  state: KeyState | undefined,
  { key: { service, jobType, key, keyHash }, policy: { maxActive, maxQueuedPerKey } }: KeyRequest,
): KeyState {
  const empty = { service, jobType, key, keyHash, active: [], queued: [], staleTakeoverCount: 0 };
  return { ...(state ?? empty), maxActive, maxQueuedPerKey };
}

/** An entry that says nothing is not kept. */
export function tidied(state: KeyState): KeyState | undefined {
  return state.active.length === 0 && state.queued.length === 0 ? undefined : state;
}

/** Puts a job into the line at its place. */
export function atItsPlace(queued: readonly QueuedJob[], job: QueuedJob): QueuedJob[] {
  const behind = queued.findIndex(({ place }) => place > job.place);
  return behind === -1 ? [...queued, job] : queued.toSpliced(behind, 0, job);
}

/** The place behind everyone who is there. */
export function lastPlace({ active, queued }: KeyState): number {
  return 1 + [...active, ...queued].reduce((most, { place }) => Math.max(most, place), 0);
}

/** Takes a slot away; the line counts from then how long nobody claims what is free. */
export function withoutSlot(state: KeyState, slotToken: string, now: number): KeyState {
  const active = state.active.filter((slot) => slot.slotToken !== slotToken);
  return { ...state, active, freedAt: now };
}

/** A running job as one that waits, at its place. */
export function requeued(slot: ActiveSlot, notBefore?: number): QueuedJob {
  const { jobId, createdAt, requestId, place } = slot;
  return { jobId, createdAt, requestId, place, ...(notBefore !== undefined && { notBefore }) };
}
