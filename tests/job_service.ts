/** What the tests of `jobs/` share: services on a test's server, bounded waits, and the stored truth. */

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { z } from "zod";
import {
  decodeEvent,
  type JobEvent,
  type JobQueue,
  JOBS_STREAM,
  type QueueDefinition,
  type QueueRef,
  TERMINAL_STATES,
  valueOrThrow,
} from "../mod.ts";

/** No wait of these tests may take longer: what takes so long hangs. */
export const LONGEST_MS = 15_000;

/** Input of most test jobs. */
export const numbered = z.object({ n: z.number() });

/** Waits for a promise; a hang becomes a failure that says what was waited for. */
export async function within<T>(
  what: string,
  promise: Promise<T>,
  waitMs: number = LONGEST_MS,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} in ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits until a signal is aborted and gives its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** Creates a job and waits for its end, whatever that is. */
export async function runOne<Queue extends QueueDefinition, Context extends object>(
  queue: JobQueue<Queue, Context>,
  ...[payload, options]: Parameters<JobQueue<Queue, Context>["create"]>
): Promise<Awaited<ReturnType<typeof ended<Queue>>>> {
  return await ended(await queue.create(payload, options).orThrow());
}

/** Waits for a job's end. */
export async function ended<Queue extends QueueDefinition>(
  ref: QueueRef<Queue>,
): Promise<Awaited<ReturnType<ReturnType<QueueRef<Queue>["wait"]>["orThrow"]>>> {
  return await ref.wait({ timeoutMs: LONGEST_MS }).orThrow();
}

/** A message of the stream that is the truth, with its headers. */
export interface StoredEvent {
  /** Place in the stream. */
  readonly sequence: number;
  /** The event. */
  readonly event: JobEvent;
  /** The header's value, or an empty text. */
  readonly header: (name: string) => string;
}

/** Reads stored events, oldest first: all of them, or those of one job. */
export async function storedEvents(nc: NatsConnection, jobId?: string): Promise<StoredEvent[]> {
  const manager = await jetstreamManager(nc);
  const filter = jobId === undefined ? {} : { filter_subjects: `trellis.jobs.*.*.${jobId}.*` };
  const consumer = await jetstream(nc).consumers.get(JOBS_STREAM, filter);
  const { state } = await manager.streams.info(JOBS_STREAM);
  const { num_pending } = await consumer.info();
  const events: StoredEvent[] = [];
  if (state.messages === 0 || num_pending === 0) return events;
  const messages = await consumer.fetch({ max_messages: num_pending, expires: 5_000 });
  for await (const message of messages) {
    events.push({
      sequence: message.seq,
      event: valueOrThrow(decodeEvent(message.subject, message.data)),
      header: (name) => message.headers?.get(name) ?? "",
    });
  }
  return events;
}

/** Reads the events of one job, oldest first. */
export async function history(nc: NatsConnection, jobId: string): Promise<JobEvent[]> {
  return (await storedEvents(nc, jobId)).map(({ event }) => event);
}

/** The events of a job that claim an end. */
export function ends(events: readonly JobEvent[]): JobEvent[] {
  return events.filter(({ eventType }) => TERMINAL_STATES.some((state) => state === eventType));
}

/** Tells what a stream holds, and how many messages it ever took. */
export async function streamState(
  nc: NatsConnection,
  stream: string,
): Promise<{ readonly messages: number; readonly last_seq: number }> {
  return (await (await jetstreamManager(nc)).streams.info(stream)).state;
}
