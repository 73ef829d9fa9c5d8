/**
 * What a handler can say by throwing, and what it is told when it is aborted.
 *
 * @module
 */

/**
 * Thrown by a handler: this job can never succeed. It ends `failed` at once, without another try.
 *
 * @example
 * ```ts
 * import { JobFailed } from "./handler_signals.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(new JobFailed("the card is stolen").message, "the card is stolen");
 * ```
 */
export class JobFailed extends Error {
  /** The name that the worker goes by: another copy of this package throws the same. */
  override readonly name = "JobFailed";
}

/** Thrown by a handler: try again after this wait instead of the queue's backoff. The try counts. */
export class RetryAfter extends Error {
  /** The name that the worker goes by. */
  override readonly name = "RetryAfter";
  /** The wait. */
  readonly delayMs: number;

  /** Asks for another try after a wait; `message` says why. */
  constructor(delayMs: number, message = `asked for another try after ${delayMs} ms`) {
    super(message);
    this.delayMs = checkedDelay(delayMs);
  }
}

/** Thrown by a handler: not yet. The job comes back after this wait and the try does not count. */
export class Snooze extends Error {
  /** The name that the worker goes by. */
  override readonly name = "Snooze";
  /** The wait. */
  readonly delayMs: number;

  /** Asks to come back later; `message` says why. */
  constructor(delayMs: number, message = `snoozed for ${delayMs} ms`) {
    super(message);
    this.delayMs = checkedDelay(delayMs);
  }
}

/** Why a running handler is aborted. */
export type AbortReason =
  /** Somebody cancelled the job. */
  | "cancelled"
  /** The job's deadline passed. */
  | "expired"
  /** The try took longer than `timeoutMs`. */
  | "timeout"
  /** The job's key lease is lost: another may run. */
  | "lease-lost"
  /** Another worker took the job over, or an operator ended it. */
  | "superseded"
  /** The process stops. */
  | "shutdown";

/** What `signal.reason` is when a handler is aborted. */
export class JobAborted extends Error {
  /** The name of the error. */
  override readonly name = "JobAborted";
  /** Why. */
  readonly reason: AbortReason;

  /** Makes the reason of an abort. */
  constructor(reason: AbortReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

function checkedDelay(delayMs: number): number {
  if (Number.isFinite(delayMs) && delayMs >= 0) return delayMs;
  throw new RangeError(`Cannot wait: the delay is ${delayMs}, not a number of milliseconds from 0`);
}
