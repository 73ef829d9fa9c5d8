/**
 * The errors that expected failures carry: one class, told apart by `reason`.
 *
 * @module
 */

/**
 * An expected failure. `reason` is what code switches on; `message` is what people read.
 *
 * @example
 * ```ts
 * import { JobsError } from "./errors.ts";
 * import assert from "node:assert/strict";
 *
 * const error = new JobsError("too-old", "Cannot provision: nats-server 2.9.10 is too old");
 * assert.equal(error.reason, "too-old");
 * ```
 */
export class JobsError<Reason extends string = string> extends Error {
  /** What went wrong, for code. */
  readonly reason: Reason;

  /** Makes an error with its reason, its sentence, and what caused it. */
  constructor(reason: Reason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "JobsError";
    this.reason = reason;
  }
}
