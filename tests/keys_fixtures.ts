/** What the tests of `keys/` share: a key, its rules, ids that sort, and short ways to ask. */

import {
  acquire,
  type AcquireDecision,
  admit,
  type AdmitDecision,
  type Change,
  type JobFate,
  type KeyIdentity,
  type KeyPolicy,
  type KeyState,
  NO_FATES,
} from "../keys/mod.ts";
import type { WhenFull } from "../protocol/mod.ts";

export const KEY: KeyIdentity = {
  service: "billing",
  jobType: "charge",
  key: "order:1",
  keyHash: "0f".repeat(32),
};

export const POLICY: KeyPolicy = {
  maxActive: 1,
  maxQueuedPerKey: 10,
  heartbeatIntervalMs: 1_000,
  heartbeatTtlMs: 6_000,
  stalePolicy: "fail-stale",
};

/** An instant to begin at. */
export const T0 = 1_700_000_000_000;

/** A job id; the number is its end. */
export function job(n: number): string {
  return `01JZ6N5V4T8Y3K2QX9W7${String(n).padStart(6, "0")}`;
}

/** Known fates, by number of the job. */
export function fates(known: Record<number, JobFate>): ReadonlyMap<string, JobFate> {
  return new Map(Object.entries(known).map(([n, fate]) => [job(Number(n)), fate]));
}

/** What may be asked for beside the job. */
export interface Asked {
  readonly at?: number;
  readonly policy?: Partial<KeyPolicy>;
  readonly whenFull?: WhenFull;
  readonly known?: Record<number, JobFate>;
  readonly token?: string;
  readonly skippable?: boolean;
}

/** Asks for a place in line. */
export function admitJob(
  state: KeyState | undefined,
  n: number,
  { at = T0, policy, whenFull = "reject", known }: Asked = {},
): Change<KeyState, AdmitDecision> {
  const request = { key: KEY, policy: { ...POLICY, ...policy }, jobId: job(n), requestId: "r" };
  const facts = known === undefined ? NO_FATES : fates(known);
  return admit(state, { ...request, whenFull, fates: facts }, at);
}

/** Asks for a slot; the token is that of the job's first attempt unless another is given. */
export function acquireJob(
  state: KeyState | undefined,
  n: number,
  { at = T0, policy, known, token = `token-${n}`, skippable = true }: Asked = {},
): Change<KeyState, AcquireDecision> {
  const request = {
    key: KEY,
    policy: { ...POLICY, ...policy },
    jobId: job(n),
    requestId: "r",
    slotToken: token,
    instanceId: "instance",
    tries: 1,
    skippable,
  };
  return acquire(state, { ...request, fates: known === undefined ? NO_FATES : fates(known) }, at);
}

/** A state in which these jobs run and those wait, in this order. */
export function stateWith(
  { active = [], queued = [], at = T0, policy = {} }: {
    readonly active?: readonly number[];
    readonly queued?: readonly number[];
    readonly at?: number;
    readonly policy?: Partial<KeyPolicy>;
  },
): KeyState {
  const limits = { maxActive: Math.max(active.length, 1), ...policy };
  let state: KeyState | undefined;
  for (const n of [...active, ...queued]) state = admitJob(state, n, { at, policy: limits }).state;
  for (const n of active) state = acquireJob(state, n, { at, policy: limits }).state;
  if (state === undefined) throw new Error("nothing runs and nothing waits");
  return state;
}

/** The jobs that run, and those that wait, by number. */
export function numbers(state: KeyState | undefined): { active: number[]; queued: number[] } {
  const number = ({ jobId }: { readonly jobId: string }) => Number(jobId.slice(-6));
  return {
    active: state?.active.map(number) ?? [],
    queued: state?.queued.map(number) ?? [],
  };
}
