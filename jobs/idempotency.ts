/**
 * The same key gives the same job, in whatever process, as long as the window lasts.
 *
 * @module
 */

import { type Connection, type Publisher, readEntry, writeEntry } from "../nats/mod.ts";
import {
  canonicalJson,
  encodeJson,
  idempotencyRecordKey,
  META_BUCKET,
  type QueueAddress,
} from "../protocol/mod.ts";

/** What is remembered of a key. */
export interface IdempotencyRecord {
  /** Version of this record's form. */
  readonly version: 1;
  /** The job that the key stands for. */
  readonly jobId: string;
  /** Hash of the payload: the same key must mean the same work. */
  readonly payloadHash: string;
  /** When the key may be used anew, RFC 3339. */
  readonly expiresAt: string;
}

/** Which job a key stands for. */
export type IdempotencyClaim =
  /** This job: ours or an earlier one; its `created` may still have to be written. */
  | { readonly kind: "job"; readonly jobId: string }
  /** The key was used with another payload. */
  | { readonly kind: "other-payload"; readonly jobId: string }
  /** Nobody knows. */
  | { readonly kind: "unavailable"; readonly description: string };

/** What a claim needs. */
export interface ClaimOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The queue. */
  readonly queue: QueueAddress;
  /** The caller's key. */
  readonly idempotencyKey: string;
  /** The payload. */
  readonly payload: unknown;
  /** The job that the key shall stand for if it is free. */
  readonly jobId: string;
  /** How long it shall. */
  readonly windowMs: number;
  /** The present instant. */
  readonly now: number;
}

const BUDGET_MS = 15_000;
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Claims a key for a job. The record is written before the job, so a crash between the two leaves a
 * claim without a job; the next caller with the same key then writes the job under the same id.
 */
export async function claimKey(options: ClaimOptions): Promise<IdempotencyClaim> {
  const { connection, publisher, queue, now } = options;
  const key = idempotencyRecordKey(queue, await sha256(options.idempotencyKey));
  const payloadHash = await sha256(canonicalJson(options.payload));
  const record: IdempotencyRecord = {
    version: 1,
    jobId: options.jobId,
    payloadHash,
    expiresAt: new Date(now + options.windowMs).toISOString(),
  };
  const encoded = encodeJson(record);
  if (!encoded.ok) return { kind: "unavailable", description: encoded.error.message };
  const giveUpAt = Date.now() + BUDGET_MS;
  let expected = 0;
  for (;;) {
    const written = await writeEntry(publisher, META_BUCKET, key, encoded.value, expected);
    if (written.kind === "stored") return { kind: "job", jobId: options.jobId };
    if (written.kind === "refused") {
      return { kind: "unavailable", description: written.description };
    }
    // Conflict or silence: what is stored decides, and it may be our own.
    try {
      const entry = await readEntry(connection, META_BUCKET, key, { giveUpAt });
      const found = readRecord(entry.value);
      if (found !== undefined && Date.parse(found.expiresAt) > now) {
        const kind = found.payloadHash === payloadHash ? "job" : "other-payload";
        return { kind, jobId: found.jobId };
      }
      expected = entry.revision;
    } catch (cause) {
      return { kind: "unavailable", description: String(cause) };
    }
    if (Date.now() >= giveUpAt) return { kind: "unavailable", description: "no answer in time" };
    // Whoever was first may be on its way through the cluster still.
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 45));
  }
}

/** A record that cannot be read stands for nothing: it is replaced by the claim. */
function readRecord(value: Uint8Array | undefined): IdempotencyRecord | undefined {
  if (value === undefined) return undefined;
  try {
    const read: unknown = JSON.parse(decoder.decode(value));
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(read: unknown): read is IdempotencyRecord {
  return typeof read === "object" && read !== null && "jobId" in read && "payloadHash" in read &&
    "expiresAt" in read && typeof read.jobId === "string" &&
    typeof read.payloadHash === "string" && typeof read.expiresAt === "string";
}

async function sha256(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
