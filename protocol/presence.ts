/**
 * Worker presence: a heartbeat that says a process works on a queue. Observed, never relied on.
 *
 * @module
 */

import { z } from "zod";
import { countSchema, instantSchema, nameSchema } from "./_fields.ts";
import {
  decodeJson,
  type DecodeProblem,
  encodeJson,
  type EncodeProblem,
  type HeaderReader,
  schemaProblem,
} from "./codec.ts";
import { err, ok, type Result } from "./result.ts";
import { parsePresenceSubject, presenceSubject } from "./subjects.ts";

/** How often a queue policy refused or merged submissions, per reason, since the process began. */
export interface PolicyCounters {
  /** Refused submissions per reason. */
  readonly rejected?: Readonly<Record<string, number>>;
  /** Submissions answered with a job that was there already, per reason. */
  readonly coalesced?: Readonly<Record<string, number>>;
  /** Submissions that took the place of queued work, per reason. */
  readonly replaced?: Readonly<Record<string, number>>;
}

/** What a worker says of itself. */
export interface WorkerHeartbeat {
  /** The service. */
  readonly service: string;
  /** The queue. */
  readonly jobType: string;
  /** The process; unique per process. */
  readonly instanceId: string;
  /** How many jobs of the queue it runs at once. */
  readonly concurrency?: number;
  /** The service's own version. */
  readonly version?: string;
  /** When, as RFC 3339 with milliseconds and `Z`. */
  readonly timestamp: string;
  /** Present on the last heartbeat of a worker that ends in order. */
  readonly stopping?: true;
  /** What left no event. */
  readonly counters?: PolicyCounters;
}

const counts = z.record(z.string(), countSchema).exactOptional();

/** The schema of a worker heartbeat. */
export const workerHeartbeatSchema: z.ZodType<WorkerHeartbeat> = z.object({
  service: nameSchema("service"),
  jobType: nameSchema("job type"),
  instanceId: nameSchema("instance id"),
  concurrency: z.int().positive().exactOptional(),
  version: z.string().exactOptional(),
  timestamp: instantSchema,
  stopping: z.literal(true).exactOptional(),
  counters: z.object({ rejected: counts, coalesced: counts, replaced: counts }).exactOptional(),
});

/**
 * Reads a stored message as a heartbeat, and checks that body and subject agree.
 *
 * @example
 * ```ts
 * import { decodeHeartbeat } from "./presence.ts";
 * import assert from "node:assert/strict";
 *
 * const subject = "trellis.jobs.workers.billing.charge.i1.heartbeat";
 * const body = {
 *   service: "billing",
 *   jobType: "charge",
 *   instanceId: "i1",
 *   timestamp: "2026-01-01T00:00:00.000Z",
 * };
 * const decoded = decodeHeartbeat(subject, new TextEncoder().encode(JSON.stringify(body)));
 * assert.deepEqual(decoded, { ok: true, value: body });
 * ```
 */
export function decodeHeartbeat(
  subject: string,
  data: Uint8Array,
  headers?: HeaderReader,
): Result<WorkerHeartbeat, DecodeProblem> {
  const address = parsePresenceSubject(subject);
  if (!address.ok) return err({ reason: "subject", message: address.error });
  const json = decodeJson(data, headers);
  if (!json.ok) return json;
  const checked = workerHeartbeatSchema.safeParse(json.value);
  if (!checked.success) return schemaProblem(checked.error);
  const own = presenceSubject(checked.data);
  if (own === subject) return ok(checked.data);
  return err({
    reason: "mismatch",
    message: `the body is about ${own}, the subject is ${subject}`,
  });
}

/** Writes a heartbeat as JSON bytes. */
export function encodeHeartbeat(heartbeat: WorkerHeartbeat): Result<Uint8Array, EncodeProblem> {
  return encodeJson(heartbeat);
}
