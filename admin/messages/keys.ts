/**
 * Requests about keys, and the answers.
 *
 * @module
 */

import { z } from "zod";
import type { PolicyCounters, StalePolicy } from "../../protocol/mod.ts";
import { countField, idField, instantAnswer, keyHashField, nameField } from "./fields.ts";
import type { QueueRequest } from "./queues.ts";

/** Which key: exactly one of `key` and `keyHash`. */
export interface GetKeyRequest extends QueueRequest {
  /** The key for people; several keys can look the same. */
  readonly key?: string;
  /** The key for coordination. */
  readonly keyHash?: string;
}

/** A job that holds a slot of a key. */
export interface KeyHolder {
  /** The job. */
  readonly jobId: string;
  /** The worker process. */
  readonly instanceId: string;
  /** The number of its try. */
  readonly tries: number;
  /** When it took the slot. */
  readonly startedAt: string;
  /** When the lease was last renewed. */
  readonly heartbeatAt: string;
  /** How long ago that was. */
  readonly heartbeatAgeMs: number;
  /** When the lease runs out. */
  readonly leaseExpiresAt: string;
  /** Whether it has run out. */
  readonly expired: boolean;
  /** The handler goes on although its worker no longer waits for it. */
  readonly lingering?: true;
}

/** A job that waits for a key. */
export interface KeyWaiter {
  /** The job. */
  readonly jobId: string;
  /** When it came into the line. */
  readonly createdAt: string;
  /** The caller's request. */
  readonly requestId: string;
  /** Others pass it until then. */
  readonly notBefore?: string;
}

/** Everything about a key. */
export interface KeyStatus extends QueueRequest {
  /** The key for people. */
  readonly key: string;
  /** The key for coordination. */
  readonly keyHash: string;
  /** Jobs that may run at once. */
  readonly maxActive: number;
  /** Jobs that may wait. */
  readonly maxQueuedPerKey: number;
  /** What happens to leases that run out, as the queue was declared. */
  readonly stalePolicy?: StalePolicy;
  /** Who runs. */
  readonly holders: readonly KeyHolder[];
  /** Who waits, the next first. */
  readonly waiters: readonly KeyWaiter[];
  /** Whether an expired lease keeps everybody out until it is released. */
  readonly blocked: boolean;
  /** How often a stale owner was superseded. */
  readonly staleTakeoverCount: number;
}

/** Keys that match. */
export interface GetKeyResponse {
  /** The keys. */
  readonly keys: readonly KeyStatus[];
  /** What left no event, over all keys of the queue, since its live workers began. */
  readonly policyCounts: PolicyCounters;
}

/** Takes a key from its holders. */
export interface ReleaseKeyRequest extends QueueRequest {
  /** The key for coordination. */
  readonly keyHash: string;
  /** From this job only; from all that hold it when left out. */
  readonly jobId?: string;
}

/** What was taken. */
export interface ReleaseKeyResponse {
  /** Jobs that no longer hold the key; those that were running are `stale`. */
  readonly released: readonly string[];
  /** The key after it; left out when nobody holds it or waits for it any more. */
  readonly key?: KeyStatus;
}

const counters = z.record(z.string(), countField).exactOptional();
const keyStatus: z.ZodType<KeyStatus> = z.object({
  service: z.string(),
  type: z.string(),
  key: z.string(),
  keyHash: z.string(),
  maxActive: countField,
  maxQueuedPerKey: countField,
  stalePolicy: z.enum(["fail-stale", "block"]).exactOptional(),
  holders: z.array(z.object({
    jobId: z.string(),
    instanceId: z.string(),
    tries: countField,
    startedAt: instantAnswer,
    heartbeatAt: instantAnswer,
    heartbeatAgeMs: z.number(),
    leaseExpiresAt: instantAnswer,
    expired: z.boolean(),
    lingering: z.literal(true).exactOptional(),
  })),
  waiters: z.array(z.object({
    jobId: z.string(),
    createdAt: instantAnswer,
    requestId: z.string(),
    notBefore: instantAnswer.exactOptional(),
  })),
  blocked: z.boolean(),
  staleTakeoverCount: countField,
}).meta({ id: "KeyStatus" });

const queueFields = { service: nameField("service"), type: nameField("job type") };
/** The schema of {@linkcode GetKeyRequest}. */
export const getKeyRequest: z.ZodType<GetKeyRequest> = z.strictObject({
  ...queueFields,
  key: z.string().min(1).max(1_024).exactOptional(),
  keyHash: keyHashField.exactOptional(),
}).refine(({ key, keyHash }) => (key === undefined) !== (keyHash === undefined), {
  path: ["key"],
  error: "give exactly one of key and keyHash",
});
/** The schema of {@linkcode GetKeyResponse}. */
export const getKeyResponse: z.ZodType<GetKeyResponse> = z.object({
  keys: z.array(keyStatus),
  policyCounts: z.object({ rejected: counters, coalesced: counters, replaced: counters }),
});
/** The schema of {@linkcode ReleaseKeyRequest}. */
export const releaseKeyRequest: z.ZodType<ReleaseKeyRequest> = z.strictObject({
  ...queueFields,
  keyHash: keyHashField,
  jobId: idField.exactOptional(),
});
/** The schema of {@linkcode ReleaseKeyResponse}. */
export const releaseKeyResponse: z.ZodType<ReleaseKeyResponse> = z.object({
  released: z.array(z.string()),
  key: keyStatus.exactOptional(),
});
