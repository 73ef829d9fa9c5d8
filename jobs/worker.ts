/**
 * The worker of one queue: it pulls work, keeps what it holds alive, and lets each job live.
 *
 * @module
 */

import {
  type Connection,
  keepWorking,
  type Message,
  onReconnect,
  type Pull,
  settle,
  startPull,
} from "../nats/mod.ts";
import {
  DELIVERY_BACKSTOP,
  durableName,
  type JobEventType,
  parseLifecycleSubject,
  type QueueAddress,
  queueEventFilter,
  type QueueSettings,
  WORK_STREAM,
} from "../protocol/mod.ts";
import { createAckBatch } from "./_ack_batch.ts";
import { createBuffer } from "./_buffer.ts";
import { createHoldback } from "./_holdback.ts";
import { createPrefetch } from "./_prefetch.ts";
import { createWaitingRoom, type WaitingRoom } from "./_waiting_room.ts";
import { JobAborted } from "./handler_signals.ts";
import { type JobLife, type LifeOptions, liveJob } from "./job_life.ts";
import type { KeyedQueue } from "./keyed_queue.ts";
import type { JobsLog } from "./log.ts";

/** Counts of a worker since it began. */
export interface WorkerCounts {
  /** Jobs that run now. */
  readonly running: number;
  /** Jobs that are here and not begun. */
  readonly buffered: number;
  /** Messages that were not work, and were dropped. */
  readonly dropped: number;
}

/** A running worker. */
export interface Worker {
  /** What it has in hand. */
  counts(): WorkerCounts;
  /** Stops pulling, lets handlers finish for so long, and then gives everything back. */
  stop(drainMs: number): Promise<void>;
}

/** What a worker needs. */
export interface WorkerOptions
  extends Omit<LifeOptions, "onDropped" | "isStopping" | "settle" | "keyed"> {
  /** The connection. */
  readonly connection: Connection;
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its settings. */
  readonly settings: QueueSettings;
  /** Prefix of reply subjects. */
  readonly inboxPrefix: string;
  /** Told what happens. */
  readonly log: JobsLog;
  /** Makes the queue's consumer anew if it is gone. */
  readonly restoreConsumer: () => Promise<unknown>;
  /** The keyed half of the queue, if it has keys. */
  readonly keyed?: Pick<KeyedQueue, "keys" | "history">;
  /** Deliveries after which the server gives work up; as the queue's consumer has it when left out. */
  readonly maxDeliveries?: number;
}

/** Jobs that may wait for their keys in one process, or twice as many as it runs at once. */
const MOST_WAITING = 1_000;

/**
 * What was fetched ahead is begun within a tenth of this while jobs keep their pace. When they have
 * become slow, what waits here so long is kept from idle siblings, and goes back.
 */
const GIVE_BACK_AFTER_MS = 1_000;

/** How often a consumer that seems gone is made anew. */
const RESTORE_EVERY_MS = 2_000;
/** An old server that still deletes it must not be disturbed. */
const RESTORE_AFTER_MS = 500;

/** Ends that come from outside while a handler runs. */
const ENDS_FROM_OUTSIDE = ["cancelled", "expired", "stale"] as const satisfies JobEventType[];

/** Timers count in 32 bits; what is longer has no end. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Starts the worker of one queue; its consumer must be there. */
export function startWorker(options: WorkerOptions): Worker {
  const { connection, queue, settings, log, keyed } = options;
  const buffered = createBuffer(settings.ackWaitMs, options.clock);
  // The first of the buffered, read already.
  let next: { readonly message: Message; readonly life: JobLife } | undefined;
  let connected = true;
  let nextRestoreAt = 0;
  const lives = new Set<JobLife>();
  const prefetch = createPrefetch(settings.concurrency);
  let dropped = 0;
  let accepting = true;
  let whenIdle: (() => void) | undefined;

  const acks = createAckBatch(connection);
  const holdback = createHoldback({
    connection,
    maxDeliveries: options.maxDeliveries ?? settings.maxDeliver + DELIVERY_BACKSTOP,
    onDue(message) {
      buffered.push(message);
      begin();
    },
  });
  const waitingRoom: WaitingRoom | undefined = keyed && createWaitingRoom({
    most: Math.max(MOST_WAITING, 2 * settings.concurrency),
    handIsFree: () => accepting && running() < settings.concurrency,
    onHandFree() {
      begin();
      pull.refill();
    },
    random: options.random,
  });
  // Those that wait for their keys have no hand.
  const running = (): number => lives.size - (waitingRoom?.size() ?? 0);
  const line = keyed?.keys.openLine();
  const { keyed: _keyed, ...shared } = options;
  const lifeOptions: LifeOptions = {
    ...shared,
    settle(message, settlement) {
      if (settlement.kind === "nak" && accepting && holdback.takes(message, settlement.delayMs)) {
        return;
      }
      if (message.reply !== undefined) acks.settle(message.reply, settlement);
    },
    isStopping: () => !accepting,
    onDropped: () => dropped++,
    ...(keyed !== undefined && line !== undefined && waitingRoom !== undefined && {
      keyed: { ...keyed, line, room: waitingRoom, isNear: holdback.isNear },
    }),
  };
  const pull: Pull = startPull(connection, {
    stream: WORK_STREAM,
    consumer: durableName(queue),
    inboxPrefix: options.inboxPrefix,
    room: () =>
      waitingRoom?.isFull() === true
        ? 0
        : settings.concurrency + prefetch.size() - buffered.size - running(),
    ahead: prefetch.size,
    onMessage(message) {
      buffered.push(message);
      begin();
    },
    onTrouble: (description) => log("warn", "pull-trouble", { ...queue, description }),
    onConsumerGone() {
      // Somebody may have deleted it; while a server begins, it only seems so.
      if (!accepting || options.clock() < nextRestoreAt) return;
      nextRestoreAt = options.clock() + RESTORE_EVERY_MS;
      setTimeout(() => options.restoreConsumer().catch(() => {}), RESTORE_AFTER_MS);
    },
  });
  let beginning = false;
  const begin = () => {
    // A life can end at once and ask for the next: the loop below is at it already.
    if (beginning) return;
    beginning = true;
    while (accepting && running() < settings.concurrency) {
      if (waitingRoom?.serve() === true) continue;
      const message = buffered.shift();
      if (message === undefined) break;
      const life = next?.message === message ? next.life : liveJob(message, lifeOptions);
      next = undefined;
      const startedAt = performance.now();
      lives.add(life);
      life.begin(() => {
        lives.delete(life);
        if (life.wait !== undefined) waitingRoom?.leave(life.wait);
        prefetch.note(performance.now() - startedAt);
        begin();
        pull.refill();
        if (lives.size === 0) whenIdle?.();
      });
    }
    beginning = false;
    // After what was begun is on its way: the next is read while the server answers.
    queueMicrotask(prepareNext);
  };
  const prepareNext = () => {
    const message = buffered.first();
    if (message === undefined || message === next?.message) return;
    next = { message, life: liveJob(message, lifeOptions) };
    next.life.prepare();
  };
  const aliveTimer = setInterval(() => {
    // Without a connection nothing is kept alive, and what is said of it comes too late.
    if (!connected) return;
    for (const { reply } of [...buffered.keepAlive(), ...lives, ...holdback.messages()]) {
      if (reply !== undefined) keepWorking(connection, reply);
    }
  }, settings.ackWaitMs / 3);
  const paceTimer = setInterval(() => {
    if (buffered.oldestAgeMs() < GIVE_BACK_AFTER_MS) return;
    prefetch.forget();
    // Else what goes back would come here again.
    pull.recall();
    giveBackBuffered();
  }, GIVE_BACK_AFTER_MS / 4);
  const subscriptions = ENDS_FROM_OUTSIDE.map((eventType) =>
    connection.subscribe(queueEventFilter(queue, eventType), {
      callback(error, message) {
        if (error !== null) {
          return log("warn", "watch-trouble", { ...queue, description: error.message });
        }
        const parsed = parseLifecycleSubject(message.subject);
        if (!parsed.ok) return;
        for (const life of lives) {
          if (life.jobId() === parsed.value.jobId) life.lookAgain();
        }
      },
    })
  );
  // What was said while the connection was down was not heard.
  const stopWatching = onReconnect(connection, (status) => {
    connected = status === "reconnect";
    if (connected) { for (const life of lives) life.lookAgain("once"); }
  });

  const giveBackBuffered = () => {
    for (const { reply } of buffered.takeAll()) {
      if (reply !== undefined) settle(connection, reply, { kind: "nak", delayMs: 0 });
    }
  };
  const untilIdle = (): Promise<void> =>
    lives.size === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle = resolve);

  return {
    counts: () => ({ running: running(), buffered: buffered.size, dropped }),
    async stop(drainMs) {
      accepting = false;
      await pull.stop();
      giveBackBuffered();
      holdback.giveBack();
      waitingRoom?.close();
      await within(untilIdle(), drainMs);
      for (const life of lives) {
        life.abort(new JobAborted("shutdown", "the worker stops"));
      }
      await untilIdle();
      clearInterval(aliveTimer);
      clearInterval(paceTimer);
      stopWatching();
      line?.[Symbol.dispose]();
      acks.flush();
      if (!connection.isClosed()) {
        for (const subscription of subscriptions) subscription.unsubscribe();
        await connection.flush().catch(() => {});
      }
    },
  };
}

/** Waits for a promise, but not longer. */
async function within(promise: Promise<void>, waitMs: number): Promise<void> {
  if (waitMs > LONGEST_TIMER_MS) return await promise;
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    promise,
    new Promise<void>((resolve) => timer = setTimeout(resolve, waitMs)),
  ]);
  clearTimeout(timer);
}
