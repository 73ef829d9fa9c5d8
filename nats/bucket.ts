/**
 * Entries of a key-value bucket, read directly and written by compare-and-set.
 *
 * A bucket is a stream and an entry is a message, so this needs no consumer and no right beyond the
 * entry's own subject.
 *
 * @module
 */

import { bucketStream, bucketSubject } from "../protocol/mod.ts";
import type { Connection } from "./connection.ts";
import { readLast } from "./direct_get.ts";
import { API_ERROR } from "./errors.ts";
import type { ApiRequestOptions } from "./js_api.ts";
import { encodeHeaderLines, type PublishAnswer, type Publisher } from "./publisher.ts";

/** An entry as it stands. */
export interface BucketEntry {
  /** The value; `undefined` when it was deleted. */
  readonly value: Uint8Array | undefined;
  /** What the next write expects. */
  readonly revision: number;
}

/** What became of a write to an entry. */
export type EntryWrite =
  /** It is stored, under this revision. */
  | { readonly kind: "stored"; readonly revision: number }
  /** Somebody else wrote first. */
  | { readonly kind: "conflict" }
  /** The server will not take it, or nobody knows. */
  | Exclude<PublishAnswer, { kind: "stored" }>;

/** Reads an entry; revision 0 when it never was. Throws when the server does not answer. */
export async function readEntry(
  nc: Connection,
  bucket: string,
  key: string,
  options: ApiRequestOptions,
): Promise<BucketEntry> {
  const stored = await readLast(nc, bucketStream(bucket), bucketSubject(bucket, key), options);
  if (stored === undefined) return { value: undefined, revision: 0 };
  return { value: stored.deleted ? undefined : stored.data, revision: stored.sequence };
}

/** Writes an entry once, if its revision is the expected one; 0 expects that there is none. */
export async function writeEntry(
  publisher: Publisher,
  bucket: string,
  key: string,
  value: Uint8Array,
  expectedRevision: number,
): Promise<EntryWrite> {
  const headers = `Nats-Expected-Last-Subject-Sequence: ${expectedRevision}\r\n`;
  return entryWrite(
    await publisher.publish(bucketSubject(bucket, key), value, encodeHeaderLines(headers)),
  );
}

/** Deletes an entry, if its revision is the expected one; a small marker stays. */
export async function deleteEntry(
  publisher: Publisher,
  bucket: string,
  key: string,
  expectedRevision: number,
): Promise<EntryWrite> {
  const headers =
    `KV-Operation: DEL\r\nNats-Expected-Last-Subject-Sequence: ${expectedRevision}\r\n`;
  const subject = bucketSubject(bucket, key);
  return entryWrite(await publisher.publish(subject, new Uint8Array(), encodeHeaderLines(headers)));
}

function entryWrite(answer: PublishAnswer): EntryWrite {
  if (answer.kind === "stored") return { kind: "stored", revision: answer.sequence };
  if (answer.kind !== "refused") return answer;
  const { code, description } = answer;
  // In a cluster another write of the same entry may be on its way: it comes first, if it comes.
  if (code === API_ERROR.wrongLastSequence || code === API_ERROR.wrongLastSequenceInFlight) {
    return { kind: "conflict" };
  }
  return code === API_ERROR.temporarilyUnavailable ? { kind: "unanswered", description } : answer;
}
