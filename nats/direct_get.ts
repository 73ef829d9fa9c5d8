/**
 * Reading the newest message of a subject, straight from a stream.
 *
 * Any replica may answer, also one that lags: a read is a hint, a compare-and-set write is the
 * authority, and absence proves nothing.
 *
 * @module
 */

import type { Connection, Message } from "./connection.ts";
import { isRetryable } from "./errors.ts";
import type { ApiRequestOptions } from "./js_api.ts";

/** A message as a stream keeps it. */
export interface StoredMessage {
  /** The subject it is stored under. */
  readonly subject: string;
  /** Its place in the stream. */
  readonly sequence: number;
  /** The body. */
  readonly data: Uint8Array;
  /** When the stream took it, as RFC 3339. */
  readonly storedAt: string;
  /** Whether the server itself wrote it, as a reply on somebody's behalf: not to be believed. */
  readonly forged: boolean;
  /** Whether it marks a deleted entry of a bucket. */
  readonly deleted: boolean;
}

/**
 * How long the first answer may take: one that a broken connection took with it never comes, and is
 * asked for again soon. A server that is merely slow gets longer each time.
 */
const FIRST_ANSWER_MS = 500;
const LONGEST_ANSWER_MS = 5_000;

/**
 * Reads the newest message whose subject matches; `undefined` when there is none. Repeats through
 * reconnects and elections; throws the client's error when no answer came in time.
 */
export function readLast(
  nc: Connection,
  stream: string,
  subject: string,
  options: ApiRequestOptions,
): Promise<StoredMessage | undefined> {
  return readDirect(nc, `${stream}.${subject}`, "", options);
}

/**
 * Reads the first message at or after a place whose subject matches; `undefined` when there is none.
 * Needs the right to read the whole stream, unlike {@linkcode readLast}.
 */
export function readNext(
  nc: Connection,
  stream: string,
  subject: string,
  fromSequence: number,
  options: ApiRequestOptions,
): Promise<StoredMessage | undefined> {
  const body = JSON.stringify({ seq: fromSequence, next_by_subj: subject });
  return readDirect(nc, stream, body, options);
}

async function readDirect(
  nc: Connection,
  address: string,
  body: string,
  options: ApiRequestOptions,
): Promise<StoredMessage | undefined> {
  const longestMs = options.answerMs ?? LONGEST_ANSWER_MS;
  let answerMs = Math.min(FIRST_ANSWER_MS, longestMs);
  for (let pauseMs = 20;; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    const timeout = Math.max(100, Math.min(answerMs, options.giveUpAt - Date.now()));
    answerMs = Math.min(2 * answerMs, longestMs);
    try {
      return readStored(await nc.request(`$JS.API.DIRECT.GET.${address}`, body, { timeout }));
    } catch (error) {
      if (!isRetryable(error) || Date.now() + pauseMs >= options.giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

function readStored(message: Message): StoredMessage | undefined {
  const { headers } = message;
  if (headers === undefined || headers.code >= 400) return undefined;
  return {
    subject: headers.get("Nats-Subject"),
    sequence: Number(headers.get("Nats-Sequence")),
    data: message.data,
    storedAt: headers.get("Nats-Time-Stamp"),
    // The server adds its headers to those that were stored: twice means that the stored message
    // was itself such an answer, sent to a subject that its sender could not publish to.
    forged: headers.values("Nats-Stream").length > 1,
    deleted: headers.get("KV-Operation") !== "",
  };
}
