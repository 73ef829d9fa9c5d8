/**
 * How long a failed job waits before its next try.
 *
 * @module
 */

/** Waits that grow by a factor, up to a most. */
export interface ExponentialBackoff {
  /** The discriminant. */
  readonly policy: "exponential";
  /** The wait after the first try. */
  readonly firstMs: number;
  /** By how much each wait is longer than the one before; 2 when left out. */
  readonly factor?: number;
  /** The longest wait; an hour when left out. */
  readonly maxMs?: number;
}

/** The same wait after each try. */
export interface FixedBackoff {
  /** The discriminant. */
  readonly policy: "fixed";
  /** The wait. */
  readonly everyMs: number;
}

/** Waits per try: a list whose last entry repeats, a named policy, or a function of the try. */
export type Backoff =
  | readonly number[]
  | ExponentialBackoff
  | FixedBackoff
  | ((tries: number) => number);

/** The waits of a queue that says nothing: 5 s, 30 s, 2 min, 10 min, 30 min. */
export const DEFAULT_BACKOFF_MS: readonly number[] = [5_000, 30_000, 120_000, 600_000, 1_800_000];

/** The longest wait that is accepted: 30 days. */
export const MAX_BACKOFF_MS: number = 30 * 24 * 3_600_000;

const JITTER = 0.1;

/**
 * The wait after the given try (1 is the first), without jitter.
 *
 * @example
 * ```ts
 * import { backoffMs } from "./backoff.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(backoffMs([1000, 5000], 1), 1000);
 * assert.equal(backoffMs([1000, 5000], 9), 5000);
 * assert.equal(backoffMs({ policy: "exponential", firstMs: 100 }, 3), 400);
 * ```
 */
export function backoffMs(backoff: Backoff, tries: number): number {
  const wait = rawWaitMs(backoff, Math.max(1, tries));
  // A user's function may return anything; a job must come back all the same.
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), MAX_BACKOFF_MS) : 0;
}

/**
 * Spreads a wait by ±10 %, so that jobs which failed together do not come back together.
 *
 * @example
 * ```ts
 * import { withJitterMs } from "./backoff.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(withJitterMs(1000, () => 0), 900);
 * assert.equal(withJitterMs(1000, () => 0.5), 1000);
 * ```
 */
export function withJitterMs(waitMs: number, random: () => number): number {
  return Math.round(waitMs * (1 - JITTER + 2 * JITTER * random()));
}

/**
 * Says what is wrong with a backoff, or `undefined` when it is fine.
 *
 * @example
 * ```ts
 * import { backoffProblem } from "./backoff.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(backoffProblem([1000]), undefined);
 * assert.match(backoffProblem([]) ?? "", /empty/);
 * ```
 */
export function backoffProblem(backoff: Backoff): string | undefined {
  if (typeof backoff === "function") return undefined;
  if (typeof backoff !== "object" || backoff === null) {
    return `backoffMs is ${JSON.stringify(backoff)}, not a list of waits, a policy or a function`;
  }
  if (!("policy" in backoff)) {
    if (backoff.length === 0) return "backoffMs is empty, give at least one wait";
    return backoff.map((wait, index) => waitProblem(`backoffMs[${index}]`, wait)).find(Boolean);
  }
  if (backoff.policy === "fixed") return waitProblem("backoffMs.everyMs", backoff.everyMs);
  if (backoff.policy !== "exponential") {
    return `backoffMs.policy is ${JSON.stringify(backoff)}, known are "exponential" and "fixed"`;
  }
  const factor = backoff.factor ?? 2;
  if (!(factor >= 1 && factor <= 100)) return `backoffMs.factor is ${factor}, not from 1 to 100`;
  return waitProblem("backoffMs.firstMs", backoff.firstMs) ??
    (backoff.maxMs === undefined ? undefined : waitProblem("backoffMs.maxMs", backoff.maxMs));
}

function waitProblem(field: string, wait: number): string | undefined {
  if (Number.isFinite(wait) && wait >= 0 && wait <= MAX_BACKOFF_MS) return undefined;
  return `${field} is ${wait}, not from 0 to ${MAX_BACKOFF_MS} ms`;
}

/** A function that throws has said nothing: the job waits as in a queue that says nothing. */
function askedWaitMs(backoff: (tries: number) => number, tries: number): number {
  try {
    return backoff(tries);
  } catch {
    return rawWaitMs(DEFAULT_BACKOFF_MS, tries);
  }
}

function rawWaitMs(backoff: Backoff, tries: number): number {
  if (typeof backoff === "function") return askedWaitMs(backoff, tries);
  if (!("policy" in backoff)) return backoff[Math.min(tries, backoff.length) - 1] ?? 0;
  if (backoff.policy === "fixed") return backoff.everyMs;
  const grown = backoff.firstMs * (backoff.factor ?? 2) ** (tries - 1);
  return Math.min(grown, backoff.maxMs ?? 3_600_000);
}
