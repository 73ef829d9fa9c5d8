/** What the tests of keyed queues share: a queue by customer, handlers that tell when they run. */

import { z } from "zod";
import {
  connectService,
  defineJobs,
  type KeyConcurrencyOptions,
  type KeyView,
  type QueueDepthOptions,
  type QueueOptions,
  type Service,
  type ServiceDefinition,
  type ServiceOptions,
} from "../mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { within } from "./job_service.ts";

const payload = z.object({ customer: z.string(), n: z.number() });
const result = z.union([z.object({ by: z.string(), deliveries: z.number() }), z.void()]);

/** The queue of these tests. */
export type SyncQueues = {
  readonly sync: {
    readonly payload: typeof payload;
    readonly result: typeof result;
  } & QueueOptions;
};
/** A service with that queue. */
export type SyncService = Service<SyncQueues, object>;

/** What differs from test to test. */
export interface SyncOptions extends Omit<QueueOptions, "keyConcurrency" | "queue"> {
  readonly service?: string;
  readonly keys?: Omit<KeyConcurrencyOptions, "key">;
  readonly queue?: QueueDepthOptions;
}

/** One job at a time per customer; a hundred may wait. */
export function defineSync(
  { service = "crm", keys = {}, queue = { maxQueuedPerKey: 100 }, ...options }: SyncOptions = {},
): ServiceDefinition<SyncQueues> {
  const keyConcurrency = { key: ["customer", "/customer"], ...keys };
  return defineJobs(service, {
    sync: {
      payload,
      result,
      ackWaitMs: 5_000,
      maxDeliver: 50,
      concurrency: 10,
      ...options,
      keyConcurrency,
      queue,
    },
  });
}

/** Connects a service with that queue; it does not start. */
export async function connectSync(
  server: NatsServer,
  options: SyncOptions = {},
  service: ServiceOptions<[]> = {},
): Promise<SyncService> {
  const { url } = server;
  return await connectService(defineSync(options), { servers: url, signals: false, ...service })
    .orThrow();
}

/** Counts, per key, what runs at once. */
export interface Overlap {
  /** Runs something of a key. */
  run<Value>(key: string, work: () => Promise<Value>): Promise<Value>;
  /** The most that ran at once, of any key. */
  most(): number;
}

/** Begins to count. */
export function watchOverlap(): Overlap {
  const running = new Map<string, number>();
  let most = 0;
  return {
    async run(key, work) {
      const now = (running.get(key) ?? 0) + 1;
      running.set(key, now);
      most = Math.max(most, now);
      try {
        return await work();
      } finally {
        running.set(key, (running.get(key) ?? 0) - 1);
      }
    },
    most: () => most,
  };
}

/** A moment, for handlers that take one. */
export function moment(waitMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, waitMs));
}

/** A door that handlers wait at. */
export interface Gate {
  /** Resolves when it is open. */
  readonly opened: Promise<void>;
  /** Opens it. */
  open(): void;
}

/** Makes a closed gate. */
export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Waits until a customer's key looks as it should; fails when that takes too long. */
export async function untilKey(
  { jobs }: Pick<SyncService, "jobs">,
  customer: string,
  what: string,
  holds: (view: KeyView | undefined) => boolean,
  waitMs?: number,
): Promise<void> {
  const look = async () => {
    while (!holds(await jobs.sync.viewKey({ customer, n: 0 }).orThrow())) await moment(20);
  };
  await within(what, look(), waitMs);
}
