/**
 * What can go wrong with a key, beside what is decided about it.
 *
 * @module
 */

import { JobsError } from "../protocol/mod.ts";

/** Why nothing could be decided. */
export type KeyFailure =
  /** Others wrote first, again and again. */
  | "contended"
  /** Nobody answers, or nobody knows. */
  | "unavailable"
  /** What is stored cannot be read; an operator must look at it. */
  | "unreadable"
  /** The server will not take the entry. */
  | "refused";

/** Nothing was decided about a key. */
export class KeyError extends JobsError<KeyFailure> {
  /** Whether the same request may succeed a moment later. */
  readonly retryable: boolean;

  /** Makes the error with its reason and sentence. */
  constructor(reason: KeyFailure, message: string, options?: ErrorOptions) {
    super(reason, message, options);
    this.name = "KeyError";
    this.retryable = reason === "contended" || reason === "unavailable";
  }
}
