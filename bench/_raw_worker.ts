/**
 * The hand-written worker: pull, store `started`, call the handler, store `completed`, acknowledge.
 *
 * It keeps the promises of a first delivery and no more: a redelivery or a lost compare-and-set ends
 * the benchmark, since nothing in it can cause one.
 */

import type { Connection, Message } from "../nats/mod.ts";
import {
  durableName,
  type JobCreatedEvent,
  jobFilter,
  lifecycleSubject,
  type QueueAddress,
  WORK_STREAM,
} from "../protocol/mod.ts";
import { rawCompleted, rawStarted } from "./_raw_events.ts";
import type { RawPublisher } from "./_raw_publisher.ts";

/** What the worker needs. */
export interface RawWorkerOptions {
  readonly connection: Connection;
  readonly publisher: RawPublisher;
  readonly queue: QueueAddress;
  readonly concurrency: number;
  readonly handler: (payload: unknown) => void | Promise<void>;
}

/** How many messages are asked for beyond those that run. */
const AHEAD = 500;
const EXPIRES_NS = 30_000_000_000;
const INSTANCE = "raw-1";
const ACK = new TextEncoder().encode("+ACK");
const decoder = new TextDecoder();

/** Starts the worker; the returned function stops it. */
export function startRawWorker(options: RawWorkerOptions): () => void {
  const { connection, publisher, queue, concurrency, handler } = options;
  const inbox = `_INBOX.raw${crypto.randomUUID().replaceAll("-", "")}`;
  const next = `$JS.API.CONSUMER.MSG.NEXT.${WORK_STREAM}.${durableName(queue)}`;
  const window = concurrency + AHEAD;
  const buffered: Message[] = [];
  let running = 0;
  let asked = 0;

  const refill = () => {
    const room = window - asked - running - buffered.length;
    if (room < window / 2) return;
    asked += room;
    connection.publish(next, `{"batch":${room},"expires":${EXPIRES_NS}}`, { reply: inbox });
  };
  const live = async (message: Message): Promise<void> => {
    // The loop has written it itself, and nobody else writes to its queue.
    const event = JSON.parse(decoder.decode(message.data)) as JobCreatedEvent;
    const source = message.headers?.get("Nats-Stream-Source") ?? "";
    const madeAt = Number.parseInt(source.slice(source.indexOf(" ") + 1), 10);
    const filter = jobFilter(event);
    const started = rawStarted(event, event.context, filter, madeAt, INSTANCE);
    const startedAt = await publisher.publish(
      lifecycleSubject(event, "started"),
      started.data,
      started.headers,
    );
    const returned = handler(event.payload);
    if (returned !== undefined) await returned;
    const completed = rawCompleted(event, event.context, filter, startedAt);
    await publisher.publish(
      lifecycleSubject(event, "completed"),
      completed.data,
      completed.headers,
    );
    connection.publish(message.reply ?? "", ACK);
    running--;
    begin();
  };
  const begin = () => {
    while (running < concurrency) {
      const message = buffered.shift();
      if (message === undefined) break;
      running++;
      live(message);
    }
    refill();
  };
  const subscription = connection.subscribe(inbox, {
    callback(_error, message) {
      if (message.reply === undefined || message.reply === "") {
        // The request ran out: what it did not bring is no longer asked for.
        asked -= Number(message.headers?.get("Nats-Pending-Messages") ?? 0);
        return refill();
      }
      asked--;
      buffered.push(message);
      begin();
    },
  });
  refill();
  return () => subscription.unsubscribe();
}
