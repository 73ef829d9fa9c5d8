/**
 * Storing an event: stored, or refused, or called unconfirmed, through reconnects and elections.
 *
 * @module
 */

import {
  API_ERROR,
  type Connection,
  type EncodedHeaders,
  encodeHeaderLines,
  type PublishAnswer,
  type Publisher,
  readLast,
} from "../nats/mod.ts";
import {
  encodeEvent,
  type JobEvent,
  jobFilter,
  JOBS_STREAM,
  lifecycleSubject,
  type ServerCapabilities,
} from "../protocol/mod.ts";
import { contextHeaders } from "./job_context.ts";
import { randomHex } from "./_random.ts";

/** What became of a lifecycle write. */
export type WriteOutcome =
  /** It is in the stream, at this place. */
  | { readonly kind: "stored"; readonly sequence: number }
  /** Another event came first; the job must be read again. */
  | { readonly kind: "lost" }
  /** The server will not take it. */
  | { readonly kind: "refused"; readonly code: number; readonly description: string }
  /** It cannot be written as JSON. */
  | { readonly kind: "unwritable"; readonly description: string }
  /** It is larger than the server takes. */
  | { readonly kind: "too-large"; readonly bytes: number; readonly most: number }
  /** No answer within the budget: it may be stored or not. */
  | { readonly kind: "unconfirmed"; readonly description: string };

/** What must be true for a write to be stored. */
export interface Expectation {
  /** Place of the job's newest event, 0 for none; used where the server can compare it. */
  readonly lastSequence: number;
  /** Place of the newest event on the write's own subject; used where the server can compare nothing else. */
  readonly ownSequence?: number;
}

/** How long a write is repeated. */
export interface WriteOptions {
  /** Without an expectation the write always goes in: `progress`, `logged`, `staleCompletionIgnored`. */
  readonly expect?: Expectation;
  /** How long to repeat it; 15 s. */
  readonly budgetMs?: number;
}

/** What writing needs. */
export interface Writer {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Where publishes go. */
  readonly publisher: Publisher;
}

/** At least as long as an election takes. */
export const WRITE_BUDGET_MS = 15_000;

interface Attempt {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: EncodedHeaders;
  readonly giveUpAt: number;
}

/** Stores an event, or says why not. */
export function writeEvent(
  writer: Writer,
  event: JobEvent,
  { expect, budgetMs = WRITE_BUDGET_MS }: WriteOptions,
): Promise<WriteOutcome> {
  const encoded = encodeEvent(event);
  if (!encoded.ok) {
    return Promise.resolve({ kind: "unwritable", description: encoded.error.message });
  }
  const data = encoded.value;
  const headers = encodeHeaderLines(eventHeaders(writer.capabilities, event, expect));
  const most = writer.connection.info?.max_payload ?? Infinity;
  const bytes = data.length + headers.encode().length;
  if (bytes > most) return Promise.resolve({ kind: "too-large", bytes, most });
  const subject = lifecycleSubject(event, event.eventType);
  const attempt: Attempt = { subject, data, headers, giveUpAt: Date.now() + budgetMs };
  return mustReadFirst(writer, expect)
    ? readThenPublish(writer, event, expect, attempt)
    : publish(writer, attempt);
}

/** The first answer is nearly always the last, and no more is set up for it than that. */
function publish(writer: Writer, attempt: Attempt): Promise<WriteOutcome> {
  const { subject, data, headers } = attempt;
  return writer.publisher.publish(subject, data, headers).then((answer) =>
    answer.kind === "stored" ? answer : insist(writer, attempt, answer)
  );
}

/** Goes on after an answer that is no success, until there is a verdict or the time is over. */
async function insist(
  writer: Writer,
  { subject, data, headers, giveUpAt }: Attempt,
  first: PublishAnswer,
): Promise<WriteOutcome> {
  let unanswered = false;
  let answer = first;
  for (let pauseMs = 50;; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    if (answer.kind === "stored") return answer;
    if (isConflict(answer)) {
      // After silence the conflict may be with our own first attempt.
      const own = unanswered
        ? await findOwn(writer.connection, subject, data, giveUpAt)
        : undefined;
      return own === undefined ? { kind: "lost" } : { kind: "stored", sequence: own };
    }
    const description = answer.description;
    if (answer.kind === "refused" && !isNoVerdict(answer)) return answer;
    unanswered ||= answer.kind === "unanswered";
    const pause = answer.kind === "refused" && answer.code === API_ERROR.wrongLastSequenceInFlight
      ? 5 + Math.random() * 45
      : pauseMs;
    if (Date.now() + pause >= giveUpAt || writer.connection.isClosed()) {
      return { kind: "unconfirmed", description };
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    answer = await writer.publisher.publish(subject, data, headers);
  }
}

/**
 * Where the server cannot compare a job's newest event, we read it first: the one difference
 * between old and new servers. What slips through between is settled by the fold's precedence.
 */
function mustReadFirst(
  { capabilities }: Writer,
  expect: Expectation | undefined,
): expect is Expectation {
  // A created event has an id of its own, which nobody else writes to.
  return !capabilities.lifecycleCompareAndSet && expect !== undefined && expect.lastSequence !== 0;
}

async function readThenPublish(
  writer: Writer,
  event: JobEvent,
  expect: Expectation,
  attempt: Attempt,
): Promise<WriteOutcome> {
  const { giveUpAt } = attempt;
  const last = await readLast(writer.connection, JOBS_STREAM, jobFilter(event), { giveUpAt });
  if ((last?.sequence ?? 0) !== expect.lastSequence) return { kind: "lost" };
  return await publish(writer, attempt);
}

function isConflict(answer: PublishAnswer): boolean {
  return answer.kind === "refused" && answer.code === API_ERROR.wrongLastSequence;
}

function isNoVerdict(answer: { readonly code: number }): boolean {
  return answer.code === API_ERROR.wrongLastSequenceInFlight ||
    answer.code === API_ERROR.temporarilyUnavailable;
}

function eventHeaders(
  capabilities: ServerCapabilities,
  event: JobEvent,
  expect: Expectation | undefined,
): string {
  const lines = contextHeaders(event.context);
  if (expect !== undefined && capabilities.lifecycleCompareAndSet) {
    return `${lines}Nats-Expected-Last-Subject-Sequence: ${expect.lastSequence}\r\n` +
      `Nats-Expected-Last-Subject-Sequence-Subject: ${jobFilter(event)}\r\n`;
  }
  // No comparison will catch a repeat after silence: the message id does, as long as it is remembered.
  const identified = `${lines}Nats-Msg-Id: ${randomHex(12)}\r\n`;
  return expect?.ownSequence === undefined
    ? identified
    : `${identified}Nats-Expected-Last-Subject-Sequence: ${expect.ownSequence}\r\n`;
}

/** Header lines of a `created` event that expects its job not to exist. */
export function createdHeaders(capabilities: ServerCapabilities, event: JobEvent): string {
  return eventHeaders(capabilities, event, { lastSequence: 0, ownSequence: 0 });
}

/** Looks for our own write in the history: the same bytes under the same subject. */
async function findOwn(
  connection: Connection,
  subject: string,
  data: Uint8Array,
  giveUpAt: number,
): Promise<number | undefined> {
  // A replica may lag by some milliseconds, so absence is asked for more than once.
  for (let attempt = 0; attempt < 3; attempt++) {
    const stored = await readLast(connection, JOBS_STREAM, subject, { giveUpAt: giveUpAt + 5_000 });
    if (stored !== undefined && sameBytes(stored.data, data)) return stored.sequence;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return undefined;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
