/** One job's life, written by hand: what a service and its worker will publish. */

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { ulid } from "ulid";
import {
  decodeEvent,
  encodeEvent,
  type JobEvent,
  jobFilter,
  JOBS_STREAM,
  lifecycleSubject,
  valueOrThrow,
} from "../protocol/mod.ts";

/** Created, tried and failed, tried again with progress, completed. */
export function storyOfOneJob(now: number = Date.now()): readonly JobEvent[] {
  const traceId = randomHex(16);
  const shared = {
    jobId: ulid(now),
    service: "billing",
    jobType: "chargeCard",
    context: {
      requestId: `demo-${randomHex(4)}`,
      traceId,
      traceparent: `00-${traceId}-${randomHex(8)}-01`,
    },
  };
  const at = (afterMs: number) => ({ timestamp: new Date(now + afterMs).toISOString() });
  const instanceId = "demo-1";
  return [
    {
      ...shared,
      ...at(0),
      eventType: "created",
      state: "pending",
      tries: 0,
      payload: { orderId: "o-1", cents: 1200 },
      maxTries: 5,
    },
    {
      ...shared,
      ...at(2),
      eventType: "started",
      state: "active",
      previousState: "pending",
      tries: 1,
      instanceId,
    },
    {
      ...shared,
      ...at(40),
      eventType: "retry",
      state: "retry",
      previousState: "active",
      tries: 1,
      error: "the bank did not answer",
      reason: "error",
    },
    {
      ...shared,
      ...at(5_040),
      eventType: "started",
      state: "active",
      previousState: "retry",
      tries: 2,
      instanceId,
    },
    {
      ...shared,
      ...at(5_050),
      eventType: "progress",
      state: "active",
      previousState: "active",
      tries: 2,
      progress: { step: "charging", current: 1, total: 2 },
    },
    {
      ...shared,
      ...at(5_090),
      eventType: "completed",
      state: "completed",
      previousState: "active",
      tries: 2,
      result: { chargeId: "c-1" },
    },
  ];
}

/** Publishes an event and returns when it is stored. */
export async function publishEvent(connection: NatsConnection, event: JobEvent): Promise<void> {
  const data = valueOrThrow(encodeEvent(event));
  await jetstream(connection).publish(lifecycleSubject(event, event.eventType), data);
}

/** Reads the events of one job back from the stream, oldest first. */
export async function readJobEvents(
  connection: NatsConnection,
  [first]: readonly JobEvent[],
): Promise<JobEvent[]> {
  if (first === undefined) return [];
  const manager = await jetstreamManager(connection);
  const events: JobEvent[] = [];
  let seq = 1;
  for (;;) {
    const stored = await manager.direct.getMessage(JOBS_STREAM, {
      seq,
      next_by_subj: jobFilter(first),
    });
    if (stored === null) return events;
    events.push(valueOrThrow(decodeEvent(stored.subject, stored.data)));
    seq = stored.seq + 1;
  }
}

/** Tells how many messages a stream holds. */
export async function readMessageCount(
  connection: NatsConnection,
  stream: string,
): Promise<number> {
  const manager = await jetstreamManager(connection);
  return (await manager.streams.info(stream)).state.messages;
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}
