/**
 * What can go wrong when a job is created.
 *
 * @module
 */

import { API_ERROR } from "../nats/mod.ts";
import { JobsError } from "../protocol/mod.ts";
import type { FullKey, JobKey, KeyTrouble } from "./key_port.ts";
import type { WriteOutcome } from "./lifecycle.ts";

/** Why a job was not created, or is not known to be. */
export type CreateFailure =
  /** The payload does not fit the queue's schema. */
  | "invalid-payload"
  /** The payload is larger than the server takes. */
  | "too-large"
  /** JSON cannot hold the payload. */
  | "not-serializable"
  /** `JOBS` is at its limit. */
  | "stream-full"
  /** The idempotency key was used with another payload. */
  | "idempotency-conflict"
  /** The server cannot create all or nothing. */
  | "atomic-unsupported"
  /** More jobs than can be created all or nothing. */
  | "too-many"
  /** The payload has nothing that could be the job's key. */
  | "invalid-key"
  /** As many jobs of the key as may run, and none may wait. */
  | "active-limit"
  /** As many jobs of the key as may wait. */
  | "queue-depth"
  /** A lease of the key has run out, and the queue's policy is to wait for an operator. */
  | "stale-blocked"
  /** Nothing could be decided about the key now; the same call may succeed a moment later. */
  | "key-unavailable"
  /** What is stored about the key cannot be read or changed; an operator must look at it. */
  | "key-refused"
  /** The server refuses for another reason. */
  | "refused"
  /** No answer: the job may exist or not; `jobId` tells which to look for. */
  | "unconfirmed";

/** A job that was not created, or is not known to be. */
export class CreateError extends JobsError<CreateFailure> {
  /** The job that may or may not exist (`unconfirmed`), or that stands there (`idempotency-conflict`). */
  readonly jobId?: string;
  /** The key in numbers, when it has no room. */
  readonly full?: FullKey;

  /** Makes the error with its reason and sentence. */
  constructor(reason: CreateFailure, message: string, jobId?: string, full?: FullKey) {
    super(reason, message);
    this.name = "CreateError";
    if (jobId !== undefined) this.jobId = jobId;
    if (full !== undefined) this.full = full;
  }
}

/** Says that a key has no room. */
export function fullKeyError({ key }: JobKey, found: FullKey): CreateError {
  const { reason, active, queued, limit } = found;
  const counts = `${active} run and ${queued} wait, ${limit} may in all`;
  const advice = reason === "stale-blocked" ? "; its owner is silent, release the key" : "";
  const message = `Cannot create: key ${key} is full, ${counts}${advice}`;
  return new CreateError(reason, message, undefined, { reason, active, queued, limit });
}

/** Says that nothing could be decided about a key. */
export function keyTroubleError({ message, retryable }: KeyTrouble): CreateError {
  const reason = retryable ? "key-unavailable" : "key-refused";
  return new CreateError(reason, `Cannot create: the key is not to be had, ${message}`);
}

/** Says why a `created` event is not in the stream. */
export function createError(
  outcome: Exclude<WriteOutcome, { kind: "stored" | "lost" }>,
  jobId: string,
): CreateError {
  switch (outcome.kind) {
    case "too-large":
      return new CreateError(
        "too-large",
        `Cannot create: the job makes a message of ${outcome.bytes} bytes, the server takes ${outcome.most}`,
      );
    case "unwritable":
      return new CreateError("not-serializable", `Cannot create: ${outcome.description}`);
    case "unconfirmed":
      return new CreateError(
        "unconfirmed",
        `Cannot tell whether job ${jobId} was created: ${outcome.description}`,
        jobId,
      );
    case "refused":
      return outcome.code === API_ERROR.streamFull
        ? new CreateError(
          "stream-full",
          `Cannot create: the stream is at its limit, ${outcome.description}`,
        )
        : new CreateError("refused", `Cannot create: the server refuses, ${outcome.description}`);
  }
}
