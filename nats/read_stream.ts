/**
 * Reading a stream in order, from a place on, for as long as one wants.
 *
 * A reading ends by itself when its order can no longer be promised: the connection broke, the
 * consumer is gone, the server is silent, a message was missed. Whoever reads then looks where it
 * stands and opens the next one; there is no second way to recover, and so none that is never tried.
 *
 * @module
 */

import { z } from "zod";
import { type Delivery, parseDelivery } from "./acknowledge.ts";
import type { Connection, Message } from "./connection.ts";
import { errorMessage } from "./errors.ts";
import { askJetStream } from "./js_api.ts";
import {
  createBuffer,
  type MessageBuffer,
  ReadingEnded,
  type StreamMessage,
} from "./_message_buffer.ts";
import { onReconnect } from "./publisher.ts";
import { createPullRequests } from "./_pull_requests.ts";

export { ReadingEnded, type StreamMessage };

/** What is read. */
export interface StreamReadingOptions<Taken = StreamMessage> {
  /** The stream. */
  readonly stream: string;
  /** Only messages whose subject matches; all when left out. `last-per-subject` needs one. */
  readonly filter?: string;
  /** The first place to read, or the newest message of each subject and what comes after. */
  readonly from: number | "last-per-subject";
  /** Prefix of reply subjects; `_INBOX` when left out. */
  readonly inboxPrefix?: string;
  /** How many messages may wait here to be taken; 8192 when left out. */
  readonly buffer?: number;
  /**
   * Reads a message when it comes, so that what waits is small. It must not throw. The message must
   * not be kept: its body and headers hold on to everything that came with them.
   */
  readonly read: (message: StreamMessage) => Taken;
}

/** Reads a message as it is, for whoever takes few: a copy, which holds on to nothing else. */
export function wholeMessage(message: StreamMessage): StreamMessage {
  return { ...message, data: message.data.slice() };
}

/** A stream being read. */
export interface StreamReading<Taken = StreamMessage> extends Disposable {
  /** How many messages there were to read when it began. */
  readonly pendingAtStart: number;
  /**
   * Waits until there are messages and takes them, in order, so many at most; as long as the server
   * has more, it waits for as many. Throws {@linkcode ReadingEnded} when no more will come.
   */
  take(most: number): Promise<readonly Taken[]>;
  /** Ends it: a waiting `take` throws. */
  end(reason: string): void;
}

const HEARTBEAT_MS = 1_000;
const BEAT_NS = HEARTBEAT_MS * 1_000_000;
const EXPIRES_NS = 30_000_000_000;
/** The server says so often that it is there; after three silent times it is not. */
const SILENT_MS = 3 * HEARTBEAT_MS;
/** The server forgets a reader that has gone without a word. */
const INACTIVE_MS = 60_000;
/** What may be under way at once; any single message must fit, whatever the server allows. */
const REQUEST_BYTES = 8 * 1024 * 1024;
const FRAME_BYTES = 64 * 1024;
const OPEN_MS = 10_000;
/** An answer that was under way when the connection broke never comes. */
const ANSWER_MS = 2_000;

const consumerSchema = z.object({ num_pending: z.number() });

/** Opens a reading. Throws when the server does not answer, or has no such stream. */
export async function openReading<Taken>(
  nc: Connection,
  options: StreamReadingOptions<Taken>,
): Promise<StreamReading<Taken>> {
  const name = `reader-${crypto.randomUUID().replaceAll("-", "")}`;
  // Watched before anything is asked: a break before the first message must be noticed too.
  let broken = false;
  let onBreak = () => {
    broken = true;
  };
  const stopWatching = onReconnect(nc, () => onBreak());
  try {
    const { num_pending: pendingAtStart } = await askJetStream(
      nc,
      consumerCreate(options, name),
      { stream_name: options.stream, config: consumerConfig(options, name), action: "create" },
      consumerSchema,
      { giveUpAt: Date.now() + OPEN_MS, answerMs: ANSWER_MS },
    );
    const buffer = createBuffer<Taken>(pendingAtStart);
    const end = pullInto(nc, options, name, buffer, stopWatching);
    onBreak = () => end("the connection broke");
    nc.closed().then(() => end("the connection is closed"), () => end("the connection is closed"));
    if (broken) onBreak();
    return {
      pendingAtStart,
      end,
      take: (most) => buffer.take(most),
      [Symbol.dispose]: () => end("it is no longer wanted"),
    };
  } catch (error) {
    stopWatching();
    throw error;
  }
}

type ConsumerOptions = Omit<StreamReadingOptions, "read" | "buffer">;

function consumerCreate({ stream, filter }: ConsumerOptions, name: string): string {
  return `CONSUMER.CREATE.${stream}.${name}${filter === undefined ? "" : `.${filter}`}`;
}

function consumerConfig({ from, filter }: ConsumerOptions, name: string): object {
  return {
    name,
    ack_policy: "none",
    replay_policy: "instant",
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: INACTIVE_MS * 1_000_000,
    ...(filter !== undefined && { filter_subject: filter }),
    ...(from === "last-per-subject"
      ? { deliver_policy: "last_per_subject" }
      : { deliver_policy: "by_start_sequence", opt_start_seq: Math.max(1, from) }),
  };
}

/** Keeps requests open as long as there is room; the returned function ends that. */
function pullInto<Taken>(
  nc: Connection,
  options: StreamReadingOptions<Taken>,
  consumer: string,
  buffer: MessageBuffer<Taken>,
  stopWatching: () => void,
): (reason: string) => void {
  const room = options.buffer ?? 8_192;
  const inbox = `${options.inboxPrefix ?? "_INBOX"}.${crypto.randomUUID().replaceAll("-", "")}.`;
  const next = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${consumer}`;
  const maxBytes = Math.max(REQUEST_BYTES, (nc.info?.max_payload ?? 0) + FRAME_BYTES);
  const requests = createPullRequests();
  let delivered = 0;
  let heardAt = Date.now();

  const end = (reason: string): void => {
    if (buffer.ended) return;
    buffer.end(new ReadingEnded(reason));
    clearInterval(watchdog);
    stopWatching();
    if (nc.isClosed()) return;
    subscription.unsubscribe();
    nc.publish(`$JS.API.CONSUMER.DELETE.${options.stream}.${consumer}`);
  };
  const refill = (): void => {
    const missing = room - requests.open - buffer.size;
    if (buffer.ended) return;
    if (missing < room / 2 || buffer.bytes >= REQUEST_BYTES) {
      if (requests.open === 0) buffer.rest();
      return;
    }
    const id = requests.ask(missing);
    const body = {
      batch: missing,
      max_bytes: maxBytes,
      expires: EXPIRES_NS,
      idle_heartbeat: BEAT_NS,
    };
    nc.publish(next, JSON.stringify(body), { reply: inbox + id });
  };
  const readStatus = (message: Message): void => {
    const status = statusOf(message, delivered);
    if (status.kind === "missed") return end("a message was missed");
    if (status.kind === "trouble") return end(`the server said ${status.description}`);
    if (status.kind === "request-over") requests.ended(Number(message.subject.slice(inbox.length)));
    refill();
  };
  const subscription = nc.subscribe(`${inbox}*`, {
    callback(error, message) {
      if (error !== null) return end(errorMessage(error));
      heardAt = Date.now();
      const delivery = parseDelivery(message.reply);
      if (delivery === undefined) return readStatus(message);
      if (delivery.consumerSequence !== ++delivered) return end("a message was missed");
      requests.delivered();
      const more = requests.open > 0 && delivery.pending > 0;
      buffer.add(options.read(streamMessage(message, delivery)), message.data.length, more);
    },
  });
  const watchdog = setInterval(() => {
    if (requests.open > 0 && Date.now() - heardAt > SILENT_MS) end("the server is silent");
  }, HEARTBEAT_MS);
  buffer.onTaken = refill;
  refill();
  return end;
}

function streamMessage(message: Message, delivery: Delivery): StreamMessage {
  return {
    sequence: delivery.streamSequence,
    storedNs: delivery.storedNs,
    pending: delivery.pending,
    subject: message.subject,
    data: message.data,
    headers: message.headers,
  };
}

type PullStatus =
  | { readonly kind: "alive" | "missed" | "request-over" }
  | { readonly kind: "trouble"; readonly description: string };

/** What the server says beside messages; a heartbeat tells how many it has sent. */
function statusOf({ headers }: Message, delivered: number): PullStatus {
  const [code, said] = [headers?.code ?? 0, headers?.description ?? ""];
  if (code === 100) {
    const sent = headers?.get("Nats-Last-Consumer") ?? "";
    return { kind: sent !== "" && Number(sent) !== delivered ? "missed" : "alive" };
  }
  // Nothing there, time is up, or the bytes are used up: all in order.
  const inOrder = code === 404 || code === 408 ||
    (code === 409 && /maxbytes|batch completed/i.test(said));
  return inOrder ? { kind: "request-over" } : { kind: "trouble", description: `${code} ${said}` };
}
