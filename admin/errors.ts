/**
 * What an admin call can fail with: a closed set of codes, the same over HTTP and over NATS.
 *
 * @module
 */

import { z } from "zod";
import { JOB_STATES, type JobState } from "../protocol/mod.ts";

/** Every code, the name that people know it by, and the HTTP status to match. */
export const ADMIN_ERRORS = {
  /** Something in the request is not as it must be; `field` says what. */
  validation: { name: "ValidationError", status: 400 },
  /** The job is in a state in which this cannot be done; `state` says in which. */
  wrong_state: { name: "ValidationError", status: 409 },
  /** There is no such job, queue, key or path. */
  not_found: { name: "NotFoundError", status: 404 },
  /** Nobody said who asks, or it could not be believed. */
  unauthenticated: { name: "AuthenticationError", status: 401 },
  /** Whoever asks may not do this. */
  forbidden: { name: "AuthorizationError", status: 403 },
  /** The request, or the answer to it, is larger than allowed. */
  too_large: { name: "TooLargeError", status: 413 },
  /** The body is not JSON by its content type. */
  unsupported_media_type: { name: "MediaTypeError", status: 415 },
  /** The server that jobs run on is too old for this. */
  unsupported: { name: "UnsupportedError", status: 501 },
  /** It keeps changing, or too many ask at once: try again. */
  busy: { name: "BusyError", status: 503 },
  /** Something that is needed does not answer: try again later. */
  unavailable: { name: "UnavailableError", status: 503 },
  /** No answer came: it may have been done or not. Look before you repeat. */
  unconfirmed: { name: "UnconfirmedError", status: 504 },
  /** A fault of the admin; the reason is in its log. */
  internal: { name: "InternalError", status: 500 },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly status: number }>>;

/** What went wrong, for code. */
export type AdminErrorCode = keyof typeof ADMIN_ERRORS;

/** What an error may say beside its code and its sentence. */
export interface AdminErrorDetails {
  /** A finer word than the code. */
  readonly reason?: string;
  /** The field of the request that is wrong, as a dotted path. */
  readonly field?: string;
  /** The state that the job is in. */
  readonly state?: JobState;
}

/** An admin call that had no effect, or is not known to have one. */
export class AdminError extends Error {
  /** What went wrong, for code. */
  readonly code: AdminErrorCode;
  /** More about it. */
  readonly details: AdminErrorDetails;

  /** Makes an error with its code and its sentence. */
  constructor(code: AdminErrorCode, message: string, details: AdminErrorDetails = {}) {
    super(message);
    this.name = ADMIN_ERRORS[code].name;
    this.code = code;
    this.details = details;
  }
}

/** An error as it is sent. */
export interface ErrorEnvelope {
  /** The error. */
  readonly error: AdminErrorDetails & {
    /** The name that people know it by. */
    readonly name: string;
    /** What went wrong, for code. */
    readonly code: AdminErrorCode;
    /** A sentence for people. */
    readonly message: string;
  };
}

// Object.keys() widens to string[]; the table's own keys are exactly these.
const CODES = Object.keys(ADMIN_ERRORS) as [AdminErrorCode, ...AdminErrorCode[]];

/** The schema of what an error says. */
export const errorSchema: z.ZodType<ErrorEnvelope["error"]> = z.object({
  name: z.string(),
  code: z.enum(CODES),
  message: z.string(),
  reason: z.string().exactOptional(),
  field: z.string().exactOptional(),
  state: z.enum(JOB_STATES).exactOptional(),
}).meta({ id: "Error" });
/** The schema of a sent error. */
export const errorEnvelopeSchema: z.ZodType<ErrorEnvelope> = z.object({ error: errorSchema })
  .meta({ id: "ErrorEnvelope" });

/**
 * Writes an error as it is sent.
 *
 * @example
 * ```ts
 * import { AdminError, toEnvelope } from "./errors.ts";
 * import assert from "node:assert/strict";
 *
 * const { error } = toEnvelope(new AdminError("not_found", "Cannot get job X: there is none"));
 * assert.deepEqual([error.name, error.code], ["NotFoundError", "not_found"]);
 * ```
 */
export function toEnvelope({ name, code, message, details }: AdminError): ErrorEnvelope {
  return { error: { name, code, message, ...details } };
}

/** Reads a sent error. */
export function fromEnvelope({ error }: ErrorEnvelope): AdminError {
  const { code, message, name: _name, ...details } = error;
  return new AdminError(code, message, details);
}
