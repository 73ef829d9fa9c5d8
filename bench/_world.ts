/** What both sides stand on: a server of their own, its streams, a queue each. */

import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import { connectService, defineJobs, type Service, type ServiceDefinition } from "../mod.ts";
import { type Connection, ensureConsumer, provision } from "../nats/mod.ts";
import { lifecycleSubject, type QueueAddress, workConsumer } from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { rawCreated, rawJobId } from "./_raw_events.ts";
import { createRawPublisher, type RawPublisher } from "./_raw_publisher.ts";

const payload = z.object({ orderId: z.string(), cents: z.number() });

/** The queue of every benchmark. */
export type BenchQueues = {
  readonly noop: { readonly payload: typeof payload; readonly concurrency: number };
};

/** A connected service with that queue. */
export type BenchService = Service<BenchQueues, object>;

/** The hand-written counterpart of a service. */
export interface RawSide extends AsyncDisposable {
  readonly connection: Connection;
  readonly publisher: RawPublisher;
  readonly queue: QueueAddress;
  /** Creates a job and resolves when it is stored. */
  create(index: number): Promise<void>;
}

/** A server with the streams on it. */
export interface World extends AsyncDisposable {
  readonly version: string;
  /** Connects the library, under a name of its own. */
  ours(name: string, concurrency?: number): Promise<BenchService>;
  /** Connects the hand-written loop, under a name of its own. */
  raw(name: string): Promise<RawSide>;
  /** Makes the consumer of a queue. */
  makeConsumer(queue: QueueAddress, concurrency: number): Promise<void>;
}

/** The input of one job. */
export function payloadOf(index: number): z.infer<typeof payload> {
  return { orderId: `order-${index}`, cents: index };
}

/** Starts the server and makes the streams. */
export async function startWorld(): Promise<World> {
  const server = await startNatsServer();
  // The same settings that the library's own connections have.
  const connectRaw = () => connect({ servers: server.url, noAsyncTraces: true });
  const control: Connection = await connectRaw();
  await provision(control).orThrow();
  return {
    version: server.version,
    ours: (name, concurrency = 1) =>
      connectService(define(name, concurrency), { servers: server.url }).orThrow(),
    async raw(name) {
      const connection: Connection = await connectRaw();
      return rawSide(connection, { service: name, jobType: "noop" });
    },
    async makeConsumer(queue, concurrency) {
      const { noop } = define(queue.service, concurrency).settings;
      const giveUpAt = Date.now() + 10_000;
      const made = await ensureConsumer(control, workConsumer(queue, noop), { giveUpAt });
      if (!made.ok) throw made.error;
    },
    async [Symbol.asyncDispose]() {
      await control.close();
      await server.stop();
    },
  };
}

function define(service: string, concurrency: number): ServiceDefinition<BenchQueues> {
  return defineJobs(service, { noop: { payload, concurrency } });
}

function rawSide(connection: Connection, queue: QueueAddress): RawSide {
  const publisher = createRawPublisher(connection);
  return {
    connection,
    publisher,
    queue,
    async create(index) {
      const job = { service: queue.service, jobType: queue.jobType, jobId: rawJobId() };
      const { data, headers } = rawCreated(job, payloadOf(index));
      await publisher.publish(lifecycleSubject(job, "created"), data, headers);
    },
    async [Symbol.asyncDispose]() {
      publisher[Symbol.dispose]();
      await connection.close();
    },
  };
}

/** Runs a numbered task many times, so many at once. */
export async function inFlight(
  count: number,
  width: number,
  task: (index: number) => Promise<unknown>,
): Promise<void> {
  let index = 0;
  const lane = async () => {
    while (index < count) await task(index++);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
