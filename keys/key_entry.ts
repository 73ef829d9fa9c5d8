/**
 * A key's state as the bucket keeps it. What cannot be read is reported, never taken for empty: an
 * empty key would let a second owner in.
 *
 * @module
 */

import { z } from "zod";
import { err, isJobId, nameProblem, ok, type QueueAddress, type Result } from "../protocol/mod.ts";
import type { ActiveSlot, KeyState, QueuedJob } from "./key_state.ts";

/** The form of the entry that is written here. */
const VERSION = 1;

const jobId = z.string().refine(isJobId, "not a ULID");
const instanceId = z.string().refine(
  (text) => nameProblem("instance id", text) === undefined,
  "not a legal instance id",
);
const count = z.int().nonnegative();
/** RFC 3339 on the wire, a number from here on: texts do not compare as times. */
const instant = z.string().transform((text, context) => {
  const at = Date.parse(text);
  if (Number.isNaN(at)) context.addIssue({ code: "custom", message: "not an instant" });
  return at;
});

/** Without a place, or anything else that only this form of the entry has, the lists are the order. */
const placed = { jobId, place: count.exactOptional() };

const entrySchema = z.object({
  version: z.literal(VERSION),
  service: z.string(),
  jobType: z.string(),
  key: z.string(),
  keyHash: z.string(),
  maxActive: count,
  maxQueuedPerKey: count.default(0),
  active: z.array(z.object({
    ...placed,
    createdAt: instant.exactOptional(),
    requestId: z.string().default(""),
    slotToken: z.string().min(1),
    instanceId,
    startedAt: instant,
    heartbeatAt: instant,
    leaseExpiresAt: instant,
    tries: count,
    lingering: z.literal(true).exactOptional(),
  })),
  queued: z.array(z.object({
    ...placed,
    createdAt: instant,
    requestId: z.string(),
    notBefore: instant.exactOptional(),
    passed: z.literal(true).exactOptional(),
    replaces: z.array(jobId).exactOptional(),
  })),
  staleTakeoverCount: count,
  freedAt: instant.exactOptional(),
});

/** Writes a state as the bucket keeps it. */
export function encodeKeyState(state: KeyState, now: number): Uint8Array {
  const { freedAt, active, queued, ...rest } = state;
  const head = JSON.stringify({
    version: VERSION,
    ...rest,
    active: active.map(slotOnWire),
    ...(freedAt !== undefined && { freedAt: text(freedAt) }),
    updatedAt: text(now),
  });
  return encoder.encode(`${head.slice(0, -1)},"queued":[${queued.map(queuedText).join(",")}]}`);
}

/** Reads an entry, and checks that it is about the key under which it lies. */
export function decodeKeyState(
  data: Uint8Array,
  expected: QueueAddress & { readonly keyHash: string },
): Result<KeyState, string> {
  let json: unknown;
  try {
    json = JSON.parse(decoder.decode(data));
  } catch (cause) {
    return err(cause instanceof Error ? cause.message : String(cause));
  }
  const read = entrySchema.safeParse(json);
  if (!read.success) {
    const issue = read.error.issues[0];
    return err(`${issue?.path.join(".") ?? "the entry"}: ${issue?.message ?? "not readable"}`);
  }
  const { service, jobType, keyHash } = read.data;
  if (
    service === expected.service && jobType === expected.jobType && keyHash === expected.keyHash
  ) {
    return ok(inOrder(read.data));
  }
  return err(`it is about the key ${keyHash} of ${service} ${jobType}`);
}

function inOrder({ version: _version, ...read }: z.output<typeof entrySchema>): KeyState {
  let last = 0;
  const next = (place = last + 1) => last = Math.max(last, place);
  return {
    ...read,
    active: read.active.map(({ place, createdAt, ...slot }) => ({
      ...slot,
      createdAt: createdAt ?? slot.startedAt,
      place: place ?? next(),
    })),
    queued: read.queued.map(({ place, ...job }) => ({ ...job, place: next(place) })),
  };
}

const decoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();
/** Those who wait are written again with each change of the key, and do not change themselves. */
const written = new WeakMap<QueuedJob, string>();

function queuedText(job: QueuedJob): string {
  const known = written.get(job);
  if (known !== undefined) return known;
  const fresh = JSON.stringify(queuedOnWire(job));
  written.set(job, fresh);
  return fresh;
}

function slotOnWire({ heartbeatAt, leaseExpiresAt, startedAt, createdAt, ...rest }: ActiveSlot) {
  return {
    ...rest,
    createdAt: text(createdAt),
    startedAt: text(startedAt),
    heartbeatAt: text(heartbeatAt),
    leaseExpiresAt: text(leaseExpiresAt),
  };
}

function queuedOnWire({ createdAt, notBefore, ...rest }: QueuedJob) {
  return {
    ...rest,
    createdAt: text(createdAt),
    ...(notBefore !== undefined && { notBefore: text(notBefore) }),
  };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
