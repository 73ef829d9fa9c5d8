/**
 * A connected service: its queues, its workers, its end.
 *
 * @module
 */

import {
  type Connection,
  connectNats,
  type ConnectOptions,
  ensureConsumer,
  errorMessage,
  provision,
  requireWorkStream,
} from "../nats/mod.ts";
import {
  assertName,
  type AsyncResult,
  asyncResult,
  declareQueue,
  durableName,
  err,
  JobsError,
  ok,
  type QueueSettings,
  type Result,
  serverCapabilities,
  workConsumer,
} from "../protocol/mod.ts";
import { type Commands, createCommands } from "./commands.ts";
import type { QueueMap, ServiceDefinition } from "./define.ts";
import type { AddedBy, Middleware } from "./handler.ts";
import type { OpenQueueKeys } from "./key_port.ts";
import { type Lifecycle, openLifecycle } from "./lifecycle.ts";
import { type JobsLog, silentLog } from "./log.ts";
import { type Presence, startPresence } from "./presence.ts";
import { createQueue, type JobQueue, type QueueInternals } from "./queue.ts";
import { recordQueues } from "./queue_registry.ts";
import { onStopSignal } from "./_stop_signals.ts";
import { randomHex } from "./_random.ts";
import { startWorker, type Worker } from "./worker.ts";

/** How a service connects and runs; everything may be left out. */
export interface ServiceOptions<List extends readonly Middleware[]> extends ConnectOptions {
  /** A connection to use instead of making one; it is left open at the end. */
  readonly connection?: Connection;
  /** Whether missing streams are made; with `false`, for least privilege, they must be there. */
  readonly provision?: boolean;
  /** How long handlers may finish when the service stops; 30 s. */
  readonly drainMs?: number;
  /** Unique name of this process; made when left out. */
  readonly instanceId?: string;
  /** The service's own version, shown by the admin. */
  readonly version?: string;
  /** Wraps every handler, the first outermost. */
  readonly middleware?: List;
  /** Told what happens; silent when left out. */
  readonly log?: JobsLog;
  /** Queues whose declaration may change in a way that can hurt work under way; `true` for all. */
  readonly allowMigration?: boolean | readonly string[];
  /** Whether `wait()` stops at SIGTERM and SIGINT; true. */
  readonly signals?: boolean;
}

/** Why a service cannot connect. */
export type ConnectFailure = "unreachable" | "unsupported-server" | "provision-failed";

/** A connected service. */
export interface Service<Queues extends QueueMap, Context extends object> extends AsyncDisposable {
  /** The queues: create, refer to and handle jobs. */
  readonly jobs: { readonly [Name in keyof Queues]: JobQueue<Queues[Name], Context> };
  /** This process. */
  readonly instanceId: string;
  /** Steering of single jobs: retry, replay, dismiss, expire, cancel. */
  readonly commands: Commands;
  /** Starts a worker for each queue that has a handler; fails as a whole. */
  start(): AsyncResult<void, JobsError>;
  /** Resolves when the service has stopped, by `stop()` or a signal; starts it if nobody did. */
  wait(): Promise<void>;
  /** Stops pulling, lets handlers finish, gives the rest back, and disconnects. */
  stop(): Promise<void>;
}

/** How long one question at start may take: longer than an election. */
const START_BUDGET_MS = 15_000;

/** Connects a service to NATS and, unless told not to, makes the streams that are missing. */
export type ConnectService = <
  Queues extends QueueMap,
  const List extends readonly Middleware[],
>(
  definition: ServiceDefinition<Queues>,
  options?: ServiceOptions<List>,
) => AsyncResult<Service<Queues, AddedBy<List>>, JobsError<ConnectFailure>>;

/** What other rooms give to a service. */
export interface ServiceRooms {
  /** Opens the keys of a queue; without it, queues with keys are refused. */
  readonly openKeys?: OpenQueueKeys;
}

/** Makes `connectService` with what other rooms give. */
export function connectServiceWith(rooms: ServiceRooms): ConnectService {
  return (definition, options = {}) => {
    if (options.instanceId !== undefined) assertName("instance id", options.instanceId);
    if (rooms.openKeys === undefined) refuseKeys(definition);
    return asyncResult(connectOnce(definition, options, rooms));
  };
}

/** A promise that is not kept is worse than none: without the room that keeps it, a key is refused. */
function refuseKeys<Queues extends QueueMap>({ settings }: ServiceDefinition<Queues>): void {
  for (const [name, queue] of Object.entries<QueueSettings>(settings)) {
    if (queue.keyConcurrency === undefined) continue;
    throw new TypeError(
      `Cannot connect: the queue ${name} declares keyConcurrency, use connectService of @trellis/jobs`,
    );
  }
}

async function connectOnce<Queues extends QueueMap, List extends readonly Middleware[]>(
  definition: ServiceDefinition<Queues>,
  options: ServiceOptions<List>,
  rooms: ServiceRooms,
): Promise<Result<Service<Queues, AddedBy<List>>, JobsError<ConnectFailure>>> {
  let connection = options.connection;
  try {
    connection ??= await connectNats(connectOptions(options));
  } catch (cause) {
    const servers = options.servers ?? "nats://127.0.0.1:4222";
    const message = `Cannot connect to NATS at ${servers}: ${errorMessage(cause)}`;
    return err(new JobsError("unreachable", message, { cause }));
  }
  const close = () => options.connection === undefined ? connection.close() : Promise.resolve();
  const capabilities = serverCapabilities(connection.info?.version ?? "");
  if (!capabilities.ok) {
    await close();
    return capabilities;
  }
  if (options.provision !== false) {
    const provisioned = await provision(connection, { update: false });
    if (!provisioned.ok) {
      await close();
      const { message } = provisioned.error;
      return err(new JobsError("provision-failed", message, { cause: provisioned.error }));
    }
  }
  const lifecycle = openLifecycle({
    connection,
    capabilities: capabilities.value,
    ...(options.inboxPrefix !== undefined && { inboxPrefix: options.inboxPrefix }),
  });
  return ok(createService(definition, options, lifecycle, close, rooms));
}

function connectOptions(options: ServiceOptions<readonly Middleware[]>): ConnectOptions {
  const { connection: _c, provision: _p, drainMs: _d, instanceId: _i, version: _v, ...rest } =
    options;
  const { middleware: _m, log: _l, signals: _s, allowMigration: _a, ...connect } = rest;
  return connect;
}

function createService<Queues extends QueueMap, Context extends object>(
  definition: ServiceDefinition<Queues>,
  options: ServiceOptions<readonly Middleware[]>,
  lifecycle: Lifecycle,
  close: () => Promise<void>,
  { openKeys }: ServiceRooms,
): Service<Queues, Context> {
  const instanceId = options.instanceId ?? `${definition.service.slice(0, 40)}-${randomHex(8)}`;
  const commands = createCommands(lifecycle);
  const queues = new Map<string, QueueInternals>();
  let started: Promise<Result<void, JobsError>> | undefined;
  let stopped: Promise<void> | undefined;
  const running: { worker: Worker; presence: Presence }[] = [];
  let announceStop: () => void = () => {};
  const stopping = new Promise<void>((resolve) => announceStop = resolve);

  const jobs = Object.fromEntries(
    Object.entries(definition.queues).map(([jobType, queueDefinition]) => {
      const settings = definition.settings[jobType];
      if (settings === undefined) throw new TypeError(`Cannot connect: ${jobType} is not defined`);
      const queue = createQueue({
        address: { service: definition.service, jobType },
        definition: queueDefinition,
        settings,
        lifecycle,
        commands,
        middleware: options.middleware ?? [],
        openKeys,
        log: options.log ?? silentLog,
        isStarted: () => started !== undefined,
      });
      queues.set(jobType, queue.internals);
      return [jobType, queue.facade];
    }),
  );

  const startOnce = async (): Promise<Result<void, JobsError>> => {
    const { connection, publisher } = lifecycle;
    const handled = [...queues.values()].filter((queue) => queue.handler() !== undefined);
    const [first] = handled;
    if (first !== undefined) {
      const giveUpAt = Date.now() + START_BUDGET_MS;
      const there = await requireWorkStream(connection, durableName(first.address), { giveUpAt });
      if (!there.ok) return there;
    }
    const recorded = await recordQueues({
      connection,
      publisher,
      service: definition.service,
      declarations: [...queues.values()].map((queue) =>
        declareQueue(queue.address, queue.definition)
      ),
      allowMigration: options.allowMigration ?? false,
    });
    if (!recorded.ok) return recorded;
    for (const { address, settings } of handled) {
      const giveUpAt = Date.now() + START_BUDGET_MS;
      const consumer = workConsumer(address, settings);
      const ensured = await ensureConsumer(lifecycle.connection, consumer, { giveUpAt });
      if (!ensured.ok) return ensured;
    }
    for (const queue of handled) running.push(startQueue(queue, lifecycle, instanceId, options));
    return ok(undefined);
  };
  const service: Service<Queues, Context> = {
    // Made entry by entry from the definition's own names.
    jobs: jobs as unknown as Service<Queues, Context>["jobs"],
    instanceId,
    commands,
    start() {
      started ??= startOnce();
      return asyncResult(started);
    },
    async wait() {
      const begun = await service.start();
      if (!begun.ok) throw begun.error;
      const ignore = options.signals === false ? () => {} : onStopSignal(() => service.stop());
      await stopping;
      await stopped;
      ignore();
    },
    stop() {
      stopped ??= (async () => {
        announceStop();
        await started;
        const drainMs = options.drainMs ?? 30_000;
        await Promise.all(running.map(async ({ worker, presence }) => {
          await worker.stop(drainMs);
          presence.stop();
        }));
        if (!lifecycle.connection.isClosed()) await lifecycle.connection.flush().catch(() => {});
        lifecycle[Symbol.dispose]();
        await close();
      })();
      return stopped;
    },
    [Symbol.asyncDispose]: () => service.stop(),
  };
  return service;
}

function startQueue(
  queue: QueueInternals,
  lifecycle: Lifecycle,
  instanceId: string,
  options: ServiceOptions<readonly Middleware[]>,
): { worker: Worker; presence: Presence } {
  const { address, settings, definition, keyed } = queue;
  const handler = queue.handler();
  if (handler === undefined) throw new TypeError(`Cannot start ${address.jobType}: no handler`);
  const { connection } = lifecycle;
  const worker = startWorker({
    connection,
    lifecycle,
    queue: address,
    settings,
    payload: definition.payload,
    result: definition.result,
    handler,
    instanceId,
    inboxPrefix: options.inboxPrefix ?? "_INBOX",
    clock: Date.now,
    random: Math.random,
    log: options.log ?? silentLog,
    ...(keyed !== undefined && { keyed }),
  });
  const presence = startPresence({
    connection,
    queue: address,
    instanceId,
    concurrency: settings.concurrency,
    version: options.version,
    clock: Date.now,
    ...(keyed !== undefined && { counters: keyed.counts.counters }),
  });
  return { worker, presence };
}
