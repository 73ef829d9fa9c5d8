/**
 * Pulling work from a consumer: always as much as there is room for, never more.
 *
 * @module
 */

import type { Connection, Message } from "./connection.ts";
import { errorMessage } from "./errors.ts";
import { onReconnect } from "./publisher.ts";

/** What is pulled, and where it goes. */
export interface PullOptions {
  /** The stream. */
  readonly stream: string;
  /** The durable consumer. */
  readonly consumer: string;
  /** Prefix of reply subjects. */
  readonly inboxPrefix: string;
  /** How many more messages there is room for, those asked for already included. */
  readonly room: () => number;
  /** How much of that room is stock, for work that will be begun later. */
  readonly ahead: () => number;
  /** Takes a message. */
  readonly onMessage: (message: Message) => void;
  /** Told what goes wrong; pulling goes on all the same. */
  readonly onTrouble: (description: string) => void;
  /** Told that the consumer may be gone: it was deleted, or nobody answers for it. */
  readonly onConsumerGone: () => void;
}

/** A running pull. */
export interface Pull {
  /** Asks for more if there is room; to be called when room has grown. */
  refill(): void;
  /** Takes back what was asked for and has not come; what is under way is still taken. */
  recall(): void;
  /** Stops asking, and resolves when all that was under way has arrived. */
  stop(): Promise<void>;
}

interface Request {
  remaining: number;
  expiresAt: number;
}

/** How long one request waits at the server. */
const EXPIRES_MS = 20_000;
/** The server says so often that it is there. */
const HEARTBEAT_MS = 2_000;
/** After so long without a word, requests count as lost and are made again. */
const SILENT_MS = 5_000;
/** A heartbeat, nothing there, nothing came in time; anything else is trouble, and no time to hurry. */
const NORMAL_STATUS = [100, 404, 408];
const RETRY_MS = 250;
/**
 * How long a request waits on a connection that has brought no answer yet. A server that has just
 * begun can lose a request without a word; a short one is missed soon and made again.
 */
const PROBE_MS = 500;
/** How long a server may take to say that nothing more comes. */
const DRAIN_MS = 1_000;

/**
 * Keeps requests open at the server as long as there is room, through reconnects, elections and
 * requests that were lost.
 */
export function startPull(nc: Connection, options: PullOptions): Pull {
  let inbox = newInbox(options.inboxPrefix);
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`;
  const requests = new Map<number, Request>();
  let lastRequest = 0;
  let pulling = true;
  let connected = true;
  let heardAt = Date.now();
  // Whether the server has answered on this connection.
  let proven = false;
  let probeTimer: ReturnType<typeof setTimeout> | undefined;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;

  const asked = () => {
    let sum = 0;
    for (const { remaining } of requests.values()) sum += remaining;
    return sum;
  };
  const refill = () => {
    if (!pulling || !connected || nc.isClosed()) return;
    const open = asked();
    const missing = options.room() - open;
    const ahead = options.ahead();
    // Many small requests cost more than they bring: stock is asked for when half of it is gone,
    // and work for idle hands when less than that is on its way.
    if (missing <= 0 || (missing <= ahead ? 2 * missing < ahead : missing < open)) return;
    ask(missing);
  };
  const ask = (batch: number) => {
    const id = ++lastRequest;
    const expiresMs = proven ? EXPIRES_MS : PROBE_MS;
    requests.set(id, { remaining: batch, expiresAt: Date.now() + expiresMs });
    const body = proven
      ? { batch, expires: nanoseconds(EXPIRES_MS), idle_heartbeat: nanoseconds(HEARTBEAT_MS) }
      : { batch, expires: nanoseconds(PROBE_MS) };
    nc.publish(subject, JSON.stringify(body), { reply: inbox + id });
    if (!proven) probeTimer ??= setTimeout(probeEnds, PROBE_MS + RETRY_MS);
  };
  const probeEnds = () => {
    probeTimer = undefined;
    if (!proven) forgetAll();
  };
  const later = () => {
    retryTimer ??= setTimeout(() => {
      retryTimer = undefined;
      refill();
    }, RETRY_MS);
  };
  const forgetAll = () => {
    requests.clear();
    proven = false;
    heardAt = Date.now();
    later();
  };
  const listen = () =>
    nc.subscribe(`${inbox}*`, {
      callback(error, message) {
        if (error !== null) return options.onTrouble(errorMessage(error));
        heardAt = Date.now();
        if (isWork(message)) {
          proven = true;
          return deliver(message);
        }
        if (!message.subject.startsWith(inbox)) return;
        readStatus(Number(message.subject.slice(inbox.length)), message);
      },
    });
  let subscription = listen();
  const deliver = (message: Message) => {
    // Work shows its own subject and not the request's; the server serves the oldest request first.
    const [oldest] = requests;
    if (oldest !== undefined && --oldest[1].remaining <= 0) requests.delete(oldest[0]);
    options.onMessage(message);
    refill();
  };
  const readStatus = (id: number, message: Message) => {
    const code = message.headers?.code ?? 0;
    proven = NORMAL_STATUS.includes(code);
    if (code === 100) return;
    requests.delete(id);
    if (proven) return refill();
    const description = message.headers?.description ?? "";
    options.onTrouble(`${code} ${description}`.trim());
    if (code === 503 || description.includes("Consumer Deleted")) options.onConsumerGone();
    later();
  };
  const watchdog = setInterval(() => {
    const now = Date.now();
    for (const [id, request] of requests) {
      if (now > request.expiresAt + HEARTBEAT_MS) requests.delete(id);
    }
    if (requests.size > 0 && now - heardAt > SILENT_MS) {
      options.onTrouble("the server went silent, asking again");
      forgetAll();
    }
    refill();
  }, 1_000);
  const stopWatching = onReconnect(nc, (status) => {
    // What is asked while the connection is down would go out when it is back, all at once.
    connected = status === "reconnect";
    forgetAll();
  });
  refill();

  return {
    refill,
    recall() {
      if (!pulling || nc.isClosed()) return;
      const before = subscription;
      inbox = newInbox(options.inboxPrefix);
      subscription = listen();
      requests.clear();
      // What is under way still arrives; for the rest nobody is there any more.
      before.drain().catch(() => {});
    },
    async stop() {
      pulling = false;
      stopWatching();
      clearInterval(watchdog);
      clearTimeout(retryTimer);
      clearTimeout(probeTimer);
      // Draining ends the subscription at the server first and here last, so nothing falls between;
      // without a connection there is nothing under way, and nothing that would answer.
      if (!nc.isClosed()) await Promise.race([subscription.drain(), pause(DRAIN_MS)]);
    },
  };
}

/** Work comes under its own subject with an acknowledgement to reply to; what the server says has neither. */
function isWork(message: Message): boolean {
  return message.reply?.startsWith("$JS.ACK.") === true;
}

function newInbox(prefix: string): string {
  return `${prefix}.${crypto.randomUUID().replaceAll("-", "")}.`;
}

function nanoseconds(milliseconds: number): number {
  return milliseconds * 1_000_000;
}

function pause(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}
