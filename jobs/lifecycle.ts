/**
 * Writing and reading a job's history: every write is stored, or refused, or called unconfirmed.
 *
 * @module
 */

import {
  API_ERROR,
  type Connection,
  createPublisher,
  encodeHeaders,
  type PublishAnswer,
  type Publisher,
  readLast,
  type StoredMessage,
} from "../nats/mod.ts";
import {
  decodeEvent,
  encodeEvent,
  JOB_EVENT_TYPES,
  type JobAddress,
  type JobEvent,
  type JobEventType,
  jobFilter,
  JOBS_STREAM,
  type JobSnapshot,
  lifecycleSubject,
  type SequencedEvent,
  type ServerCapabilities,
} from "../protocol/mod.ts";
import { contextHeaders } from "./job_context.ts";
import { randomHex } from "./_random.ts";
import { foldProven, newestOfEach } from "./_replica_proof.ts";

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

/** The history of jobs, over one connection. */
export interface Lifecycle extends Disposable {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Where publishes go. */
  readonly publisher: Publisher;
  /** Stores an event, through reconnects, elections and restarts. */
  write(event: JobEvent, options?: WriteOptions): Promise<WriteOutcome>;
  /** Reads a job: the newest event of each kind, folded. Throws when the server does not answer. */
  read(job: JobAddress, budgetMs?: number): Promise<JobSnapshot | undefined>;
  /** Reads the place of a job's newest event; 0 when there is none. */
  readLastSequence(job: JobAddress, budgetMs?: number): Promise<number>;
  /** Reads the place of the newest event of one kind; 0 when there is none. */
  readOwnSequence(job: JobAddress, eventType: JobEventType): Promise<number>;
}

/** At least as long as an election takes. */
export const WRITE_BUDGET_MS = 15_000;

/** Longer than replicas were seen to lag behind a write (10 ms). */
const REPLICA_LAG_MS = 25;
/** How often each kind is asked for when nothing proves that all was seen. */
const MOST_LOOKS = 4;

/** What the history needs to know. */
export interface LifecycleOptions {
  /** The connection. */
  readonly connection: Connection;
  /** What the server can do. */
  readonly capabilities: ServerCapabilities;
  /** Prefix of reply subjects. */
  readonly inboxPrefix?: string;
}

/** Opens the history of jobs. */
export function openLifecycle(options: LifecycleOptions): Lifecycle {
  const { connection, capabilities, inboxPrefix } = options;
  const publisher = createPublisher(connection, inboxPrefix === undefined ? {} : { inboxPrefix });
  const writer: Writer = { connection, capabilities, publisher };
  return {
    ...writer,
    write: (event, write = {}) => writeEvent(writer, event, write),
    async read(job, budgetMs = WRITE_BUDGET_MS) {
      const giveUpAt = Date.now() + budgetMs;
      const read = (subject: string) => readLast(connection, JOBS_STREAM, subject, { giveUpAt });
      // The newest event first, then each kind: what a write will expect must be no newer than what
      // it was decided on.
      const clustered = connection.info?.cluster !== undefined;
      let last = await read(jobFilter(job));
      // A replica that lags may not know of the job at all, and what is gone is given up for good.
      for (let look = 1; last === undefined && clustered && look < MOST_LOOKS; look++) {
        await pause(REPLICA_LAG_MS);
        last = await read(jobFilter(job));
      }
      if (last === undefined) return undefined;
      let known: SequencedEvent[] = [];
      for (let look = 1;; look++) {
        // In a cluster each answer comes from whichever replica, and one that lags hides events: the
        // others are given time to catch up with the newest, and asked again while in doubt.
        if (clustered) await pause(REPLICA_LAG_MS);
        const newest = await Promise.all(
          JOB_EVENT_TYPES.map((eventType) => read(lifecycleSubject(job, eventType))),
        );
        known = newestOfEach([...known, ...newest.flatMap(believed)]);
        const { snapshot, proven } = foldProven(believed(last)[0], known);
        const sure = proven && capabilities.lifecycleCompareAndSet;
        if (clustered && !sure && look < MOST_LOOKS) continue;
        return snapshot === undefined ? undefined : { ...snapshot, lastSequence: last.sequence };
      }
    },
    async readLastSequence(job, budgetMs = WRITE_BUDGET_MS) {
      const giveUpAt = Date.now() + budgetMs;
      const last = await readLast(connection, JOBS_STREAM, jobFilter(job), { giveUpAt });
      return last?.sequence ?? 0;
    },
    async readOwnSequence(job, eventType) {
      const giveUpAt = Date.now() + WRITE_BUDGET_MS;
      const subject = lifecycleSubject(job, eventType);
      return (await readLast(connection, JOBS_STREAM, subject, { giveUpAt }))?.sequence ?? 0;
    },
    [Symbol.dispose]: () => publisher[Symbol.dispose](),
  };
}

/** A stored message that is an event of ours; anything else is passed over. */
export function believed(message: StoredMessage | undefined): SequencedEvent[] {
  if (message === undefined || message.forged) return [];
  const decoded = decodeEvent(message.subject, message.data);
  return decoded.ok ? [{ sequence: message.sequence, event: decoded.value }] : [];
}

interface Writer {
  readonly connection: Connection;
  readonly capabilities: ServerCapabilities;
  readonly publisher: Publisher;
}

async function writeEvent(
  writer: Writer,
  event: JobEvent,
  { expect, budgetMs = WRITE_BUDGET_MS }: WriteOptions,
): Promise<WriteOutcome> {
  const encoded = encodeEvent(event);
  if (!encoded.ok) return { kind: "unwritable", description: encoded.error.message };
  const data = encoded.value;
  const headers = encodeHeaders(eventHeaders(writer.capabilities, event, expect));
  const most = writer.connection.info?.max_payload ?? Infinity;
  const bytes = data.length + headers.encode().length;
  if (bytes > most) return { kind: "too-large", bytes, most };
  const subject = lifecycleSubject(event, event.eventType);
  const giveUpAt = Date.now() + budgetMs;
  if (mustReadFirst(writer, expect) && !await holds(writer, event, expect, giveUpAt)) {
    return { kind: "lost" };
  }
  let unanswered = false;
  for (let pauseMs = 50;; pauseMs = Math.min(pauseMs * 2, 1_000)) {
    const answer = await writer.publisher.publish(subject, data, headers);
    if (answer.kind === "stored") return { kind: "stored", sequence: answer.sequence };
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

async function holds(
  { connection }: Writer,
  event: JobEvent,
  expect: Expectation,
  giveUpAt: number,
): Promise<boolean> {
  const last = await readLast(connection, JOBS_STREAM, jobFilter(event), { giveUpAt });
  return (last?.sequence ?? 0) === expect.lastSequence;
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
): [string, string][] {
  const headers = contextHeaders(event.context);
  if (expect !== undefined && capabilities.lifecycleCompareAndSet) {
    headers.push(
      ["Nats-Expected-Last-Subject-Sequence", String(expect.lastSequence)],
      ["Nats-Expected-Last-Subject-Sequence-Subject", jobFilter(event)],
    );
    return headers;
  }
  // No comparison will catch a repeat after silence: the message id does, as long as it is remembered.
  headers.push(["Nats-Msg-Id", randomHex(12)]);
  if (expect?.ownSequence !== undefined) {
    headers.push(["Nats-Expected-Last-Subject-Sequence", String(expect.ownSequence)]);
  }
  return headers;
}

/** Headers of a `created` event that expects its job not to exist. */
export function createdHeaders(
  capabilities: ServerCapabilities,
  event: JobEvent,
): [string, string][] {
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

function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}
