/**
 * One queue of a service, in the types of its definition.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  err,
  isJobId,
  type JobCreatedEvent,
  type JobsError,
  type KeyView,
  ok,
  type QueueAddress,
  type QueueDefinition,
  type QueueSettings,
  type Result,
  type WhenFull,
} from "../protocol/mod.ts";
import type { Commands } from "./commands.ts";
import { buildCreated, type CreateDependencies, createJob, type CreateOptions } from "./create.ts";
import { createAtomically } from "./create_atomic.ts";
import type { CreateError } from "./create_error.ts";
import type { PayloadInput, ResultOutput } from "./define.ts";
import {
  type AddedBy,
  type HandlerInput,
  type JobHandler,
  type Middleware,
  wrapHandler,
} from "./handler.ts";
import type { BoundHandler } from "./job_life.ts";
import type { KeyedCreation } from "./create_keyed.ts";
import { createJobRef, type JobRef } from "./job_ref.ts";
import type { OpenQueueKeys } from "./key_port.ts";
import { type KeyedQueue, type KeyFailure, openKeyedQueue } from "./keyed_queue.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { JobsLog } from "./log.ts";
import { inCreateSpan, inProcessSpan } from "./telemetry.ts";

/** A reference to a job of a queue. */
export type QueueRef<Queue extends QueueDefinition> = JobRef<
  PayloadInput<Queue>,
  ResultOutput<Queue>
>;

/** What became of a submission. */
export type SubmitOutcome<Queue extends QueueDefinition> =
  /** A new job was made. */
  | { readonly kind: "accepted"; readonly ref: QueueRef<Queue> }
  /** No job was made. */
  | { readonly kind: "rejected"; readonly error: CreateError }
  /** A job of the same key stands for it. */
  | { readonly kind: "coalesced"; readonly ref: QueueRef<Queue> }
  /** A new job took the place of a waiting one. */
  | { readonly kind: "replaced"; readonly ref: QueueRef<Queue>; readonly replacedJobId: string };

/** How many jobs are created. */
export interface CreateManyOptions extends Omit<CreateOptions, "idempotencyKey"> {
  /** All or nothing, up to 1000, where the server can (2.12); then all results are alike. */
  readonly atomic?: boolean;
}

/** One queue of a service. */
export interface JobQueue<Queue extends QueueDefinition, Context extends object> {
  /** Creates a job; Ok when it is stored. A full key is an error, whatever the queue's policy. */
  create(
    payload: PayloadInput<Queue>,
    options?: CreateOptions,
  ): AsyncResult<QueueRef<Queue>, CreateError>;
  /** Creates a job by the queue's policy, and tells what the policy did. */
  submit(payload: PayloadInput<Queue>, options?: CreateOptions): Promise<SubmitOutcome<Queue>>;
  /** Creates many jobs at once; a result for each, in their order. */
  createMany(
    payloads: readonly PayloadInput<Queue>[],
    options?: CreateManyOptions,
  ): Promise<Result<QueueRef<Queue>, CreateError>[]>;
  /** Refers to a job by its id. */
  ref(jobId: string): QueueRef<Queue>;
  /** Shows who runs and who waits for the key of a payload; `undefined` when nobody does. */
  viewKey(payload: PayloadInput<Queue>): AsyncResult<KeyView | undefined, JobsError<KeyFailure>>;
  /**
   * Takes the slots of a payload's key from their owners, whatever their leases say, and gives the
   * jobs that were running: they end `stale`. It is what frees a key that is `blocked`; a handler
   * that still runs is aborted, but nobody waits for it.
   */
  releaseKey(
    payload: PayloadInput<Queue>,
    options?: { readonly actor?: string },
  ): AsyncResult<readonly string[], JobsError<KeyFailure>>;
  /** Sets the handler: once, and before the service starts. */
  handle<const List extends readonly Middleware[]>(
    handler: JobHandler<Queue, Context & AddedBy<List>>,
    options?: { readonly middleware?: List },
  ): void;
}

/** What the service sees of a queue. */
export interface QueueInternals {
  /** Service and name. */
  readonly address: QueueAddress;
  /** The definition. */
  readonly definition: QueueDefinition;
  /** The settings. */
  readonly settings: QueueSettings;
  /** What it has beside, if it has keys. */
  readonly keyed?: KeyedQueue;
  /** The handler, once set. */
  handler(): BoundHandler | undefined;
}

/** What a queue is made from. */
export interface QueueParts {
  /** Service and name. */
  readonly address: QueueAddress;
  /** The definition. */
  readonly definition: QueueDefinition;
  /** The settings. */
  readonly settings: QueueSettings;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** The commands. */
  readonly commands: Commands;
  /** The service's middleware. */
  readonly middleware: readonly Middleware[];
  /** Opens keys, for a queue that has them. */
  readonly openKeys: OpenQueueKeys | undefined;
  /** Told what happens. */
  readonly log: JobsLog;
  /** Whether the service has started. */
  readonly isStarted: () => boolean;
}

/** How many creates of one `createMany` are in flight at once. */
const MOST_IN_FLIGHT = 1_000;

/** Makes one queue: the side that authors see, and the side that the service sees. */
export function createQueue(
  parts: QueueParts,
): { facade: JobQueue<QueueDefinition, object>; internals: QueueInternals } {
  const { address, definition, settings, lifecycle, commands } = parts;
  let bound: BoundHandler | undefined;
  const ref = (jobId: string) =>
    createJobRef<unknown, undefined>({ ...address, jobId }, {
      lifecycle,
      commands,
      result: definition.result,
    });
  const dependencies = {
    lifecycle,
    queue: address,
    settings,
    payload: definition.payload,
    clock: Date.now,
  };
  const keyed = openKeyed(parts, dependencies);
  const submit = (
    payload: unknown,
    whenFull: WhenFull,
    options?: CreateOptions,
  ): Promise<Result<KeyedCreation, CreateError>> =>
    inCreateSpan(address, async () => {
      if (keyed !== undefined) return await keyed.create(payload, whenFull, options);
      const created = await createJob(dependencies, payload, options);
      return created.ok ? ok({ kind: "accepted", jobId: created.value }) : created;
    });
  const create = async (payload: unknown, options?: CreateOptions) => {
    const created =
      await (keyed === undefined
        ? inCreateSpan(address, () => createJob(dependencies, payload, options))
        : strictly(submit(payload, "reject", options)));
    return created.ok ? ok(ref(created.value)) : err(created.error);
  };
  const createAll = async (payloads: readonly unknown[], options: CreateOptions) => {
    if (keyed !== undefined) {
      const all = await keyed.createAll(payloads, options);
      return all.ok ? all.value.map((jobId) => ok(ref(jobId))) : payloads.map(() => all);
    }
    const events: JobCreatedEvent[] = [];
    for (const payload of payloads) {
      const built = await buildCreated(dependencies, payload, options);
      if (!built.ok) return payloads.map(() => built);
      events.push(built.value);
    }
    const stored = await createAtomically(lifecycle, events);
    return events.map((event) => stored.ok ? ok(ref(event.jobId)) : stored);
  };
  const facade: JobQueue<QueueDefinition, object> = {
    create: (payload, options) => asyncResult(create(payload, options)),
    async submit(payload, options) {
      const made = await submit(payload, settings.queue?.whenFull ?? "reject", options);
      if (!made.ok) return { kind: "rejected", error: made.error };
      const { jobId, ...outcome } = made.value;
      return { ...outcome, ref: ref(jobId) };
    },
    viewKey: (payload) => withKeys(keyed, address).view(payload),
    releaseKey: (payload, options = {}) => withKeys(keyed, address).release(payload, options),
    async createMany(payloads, { atomic, ...options } = {}) {
      if (atomic === true) return await createAll(payloads, options);
      const results: Awaited<ReturnType<typeof create>>[] = [];
      for (let at = 0; at < payloads.length; at += MOST_IN_FLIGHT) {
        const part = payloads.slice(at, at + MOST_IN_FLIGHT);
        results.push(...await Promise.all(part.map((payload) => create(payload, options))));
      }
      return results;
    },
    ref(jobId) {
      if (!isJobId(jobId)) {
        throw new TypeError(`Cannot refer to a job: ${JSON.stringify(jobId)} is not a ULID`);
      }
      return ref(jobId);
    },
    handle(handler, options) {
      if (bound !== undefined) {
        throw new TypeError(`Cannot handle ${address.jobType}: it has a handler already`);
      }
      if (parts.isStarted()) {
        throw new TypeError(`Cannot handle ${address.jobType}: the service has started already`);
      }
      // The types tie the handler to what the middleware adds; here it is only called.
      const call = handler as (input: HandlerInput<unknown>) => unknown;
      const middleware = [...parts.middleware, ...(options?.middleware ?? [])];
      const wrapped = wrapHandler(call, middleware, address);
      bound = (job, signal) => inProcessSpan(job, address, () => wrapped(job, signal));
    },
  };
  const internals = {
    ...{ address, definition, settings, handler: () => bound },
    ...(keyed !== undefined && { keyed }),
  };
  return { facade, internals };
}

/** The keyed half of a queue, if it has keys. */
function openKeyed(
  { settings, openKeys, address, log }: QueueParts,
  dependencies: CreateDependencies,
): KeyedQueue | undefined {
  if (settings.keyConcurrency === undefined) return undefined;
  if (openKeys !== undefined) return openKeyedQueue(openKeys, dependencies, log);
  throw new TypeError(`Cannot open the queue ${address.jobType}: nobody keeps its keys`);
}

/** Asking for a key where there is none is a mistake in the program. */
function withKeys(keyed: KeyedQueue | undefined, { jobType }: QueueAddress): KeyedQueue {
  if (keyed !== undefined) return keyed;
  throw new TypeError(`Cannot look for a key: the queue ${jobType} has no keyConcurrency`);
}

/** `create` makes a job or fails: with the policy `reject` nothing else can come out. */
async function strictly(
  submitted: Promise<Result<KeyedCreation, CreateError>>,
): Promise<Result<string, CreateError>> {
  const made = await submitted;
  return made.ok ? ok(made.value.jobId) : made;
}
