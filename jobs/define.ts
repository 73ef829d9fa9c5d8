/**
 * Declaring a service's queues; every type a service author sees flows from here.
 *
 * @module
 */

import {
  assertName,
  type QueueDefinition,
  type QueueSettings,
  resolveQueue,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../protocol/mod.ts";

/** Queues by name. */
export type QueueMap = { readonly [jobType: string]: QueueDefinition };

/** What `create` takes. */
export type PayloadInput<Queue extends QueueDefinition> = SchemaInput<Queue["payload"]>;
/** What a handler gets: the payload as its schema gives it back. */
export type PayloadOutput<Queue extends QueueDefinition> = SchemaOutput<Queue["payload"]>;
/** What a handler returns: what the result schema takes, or nothing without one. */
export type ResultInput<Queue extends QueueDefinition> = Queue extends
  { readonly result: infer Result extends StandardSchema } ? SchemaInput<Result> : void;
/** What `wait` gives: the result as its schema gives it back. */
export type ResultOutput<Queue extends QueueDefinition> = Queue extends
  { readonly result: infer Result extends StandardSchema } ? SchemaOutput<Result> : undefined;

/** A service and its queues, checked. */
export interface ServiceDefinition<Queues extends QueueMap> {
  /** The service's name. */
  readonly service: string;
  /** The queues as they were written. */
  readonly queues: Queues;
  /** The queues with every default filled in. */
  readonly settings: { readonly [Name in keyof Queues]: QueueSettings };
}

/**
 * Declares the queues of a service. Illegal names and options throw here, where they are written.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { defineJobs } from "./define.ts";
 * import assert from "node:assert/strict";
 *
 * const billing = defineJobs("billing", {
 *   chargeCard: { payload: z.object({ orderId: z.string() }), concurrency: 10 },
 * });
 * assert.equal(billing.settings.chargeCard.concurrency, 10);
 * ```
 */
export function defineJobs<Queues extends QueueMap>(
  service: string,
  queues: Queues,
): ServiceDefinition<Queues> {
  assertName("service", service);
  const entries = Object.entries(queues).map(([name, queue]) => {
    if (typeof queue.payload?.["~standard"]?.validate !== "function") {
      throw new TypeError(`Cannot define the queue ${name}: its payload is not a Standard Schema`);
    }
    return [name, resolveQueue(name, queue)] as const;
  });
  // fromEntries() forgets which names there were; they are exactly those of `queues`.
  const settings = Object.fromEntries(entries) as { [Name in keyof Queues]: QueueSettings };
  return { service, queues, settings };
}
