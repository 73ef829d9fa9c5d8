/**
 * One job's life in the worker: decode → admit → start → perform → decide → record → settle.
 *
 * @module
 */

import type { Connection, Message, Settlement } from "../nats/mod.ts";
import {
  isTerminal,
  type Job,
  type QueueAddress,
  type QueueSettings,
  type StandardSchema,
} from "../protocol/mod.ts";
import { type ActiveJob, createReports, type RunningTry } from "./active_job.ts";
import { createAbandonment } from "./_abandonment.ts";
import { decide } from "./decide.ts";
import { JobAborted } from "./handler_signals.ts";
import { createJobWait, type JobWait } from "./job_wait.ts";
import type { KeyedTry } from "./keyed_try.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { JobsLog } from "./log.ts";
import { describeThrown, perform } from "./perform.ts";
import { recordVerdict } from "./record.ts";
import { recordKeyed } from "./record_keyed.ts";
import { type KeyedLifeOptions, startKeyed } from "./start_keyed.ts";
import { startTry } from "./start_try.ts";
import { readWorkItem, type WorkItem } from "./work_item.ts";

/** A handler with its middleware around it. */
export type BoundHandler = (job: ActiveJob<unknown>, signal: () => AbortSignal) => unknown;

/** What a job's life needs. */
export interface LifeOptions {
  /** The connection. */
  readonly connection: Connection;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its settings. */
  readonly settings: QueueSettings;
  /** Schema of the payload. */
  readonly payload: StandardSchema;
  /** Schema of the result. */
  readonly result: StandardSchema | undefined;
  /** The handler. */
  readonly handler: BoundHandler;
  /** This process. */
  readonly instanceId: string;
  /** The present instant. */
  readonly clock: () => number;
  /** Chance. */
  readonly random: () => number;
  /** Told what happens. */
  readonly log: JobsLog;
  /** Settles a delivery; only called when what it says is stored. */
  readonly settle: (message: Message, settlement: Settlement) => void;
  /** Told when a message was not work. */
  readonly onDropped: () => void;
  /** The keys, in a keyed queue. */
  readonly keyed?: KeyedLifeOptions;
}

/** A life under way. */
export interface JobLife {
  /** Where the delivery is settled and kept alive. */
  readonly reply: string | undefined;
  /** Reads the message ahead of time, in a moment when nothing else is to do. */
  prepare(): void;
  /** Lets it live; `onEnded` is called once, in the tick in which the delivery is settled. */
  begin(onEnded: () => void): void;
  /** The job, once the message was read. */
  jobId(): string | undefined;
  /** Aborts the handler. */
  abort(reason: JobAborted): void;
  /** Reads the job again, and aborts the handler if the job is no longer this worker's. */
  lookAgain(): void;
  /** Its wait for its key, in a keyed queue. */
  readonly wait: JobWait | undefined;
}

/** Prepares the life of the job of one work message; trouble of one job never reaches another. */
export function liveJob(message: Message, options: LifeOptions): JobLife {
  const abandonment = createAbandonment();
  const { keyed } = options;
  const wait = keyed === undefined ? undefined : createJobWait({
    room: keyed.room,
    isNear: () => keyed.isNear(message.reply),
    onLost(why) {
      if (running !== undefined) running.active = false;
      abandonment.abort(new JobAborted("lease-lost", why));
    },
  });
  let read: ReturnType<typeof readWorkItem> | undefined;
  let item: WorkItem | undefined;
  let running: RunningTry | undefined;
  let lookPending = false;

  const look = () => {
    // An end that is heard while the start is being stored is looked at once it is.
    lookPending = true;
    if (item !== undefined) wait?.look(item, options);
    if (item === undefined || running === undefined || !running.active) return;
    const [watched, tried] = [item, running];
    lookUntilClear(watched, tried, options).then((reason) => {
      if (reason === undefined) return;
      tried.active = false;
      abandonment.abort(reason);
    }, () => {});
  };
  const live = async (onEnded: () => void): Promise<void> => {
    read ??= readWorkItem(message, options.queue);
    if (!read.ok) {
      drop(message, read.error, options);
      return onEnded();
    }
    item = read.value;
    const started =
      await (keyed === undefined || wait === undefined
        ? startTry(item, options)
        : startKeyed(item, options, keyed, wait.of(item)));
    if (started.kind === "settled") {
      options.settle(message, started.settlement);
      return onEnded();
    }
    running = started.running;
    if (lookPending) look();
    const outcome = await performTry(item, started.payload, running, abandonment, options);
    running.active = false;
    const { settings, clock, random } = options;
    const ended = { ...running.shared, maxTries: item.maxTries };
    const verdict = decide(ended, outcome, { settings, now: clock(), random });
    const settlement =
      await (running.keyed === undefined
        ? recordVerdict(verdict, running, options)
        : recordKeyed(verdict, outcome, running.keyed, running, options));
    options.settle(message, settlement);
    // In the same tick, so that this settlement and the next start leave in one write.
    onEnded();
  };
  return {
    reply: message.reply,
    wait,
    prepare() {
      read ??= readWorkItem(message, options.queue);
    },
    begin(onEnded) {
      live(onEnded).catch((thrown: unknown) => {
        // The server was silent for longer than we wait, or we have a bug: the work comes back by itself.
        if (running !== undefined) running.active = false;
        const error = describeThrown(thrown);
        options.log("error", "job-trouble", { ...options.queue, jobId: item?.jobId, error });
        onEnded();
      });
    },
    jobId: () => item?.jobId,
    abort: (reason) => abandonment.abort(reason),
    lookAgain: look,
  };
}

/** Not work, and never will be: out of the queue, counted and logged, so that nothing loops on it. */
function drop(
  message: Message,
  problem: { readonly reason: string; readonly message: string },
  options: LifeOptions,
): void {
  options.onDropped();
  options.log("warn", "poison", {
    ...options.queue,
    reason: problem.reason,
    error: problem.message,
  });
  options.settle(message, { kind: "term" });
}

async function performTry(
  item: WorkItem,
  payload: unknown,
  running: RunningTry,
  abandonment: ReturnType<typeof createAbandonment>,
  options: LifeOptions,
): ReturnType<typeof perform> {
  const { settings } = options;
  const { keyed } = running;
  const plain: ActiveJob<unknown> = {
    id: item.jobId,
    payload,
    context: item.context,
    tries: running.shared.tries,
    maxTries: item.maxTries,
    deliveries: item.deliveries,
    redelivered: item.deliveries > 1,
    ...(item.deadline !== undefined && { deadline: item.deadline }),
    ...createReports(running, options.lifecycle, settings, options.clock),
  };
  const job = keyed === undefined ? plain : withKey(plain, keyed);
  const run = () => options.handler(job, abandonment.signal);
  const timer = settings.timeoutMs === undefined ? undefined : setTimeout(() => {
    const message = `the try took longer than ${settings.timeoutMs} ms`;
    abandonment.abort(new JobAborted("timeout", message));
  }, settings.timeoutMs);
  try {
    const outcome = await perform({
      run: keyed === undefined ? run : () => keyed.watch(run()),
      abandoned: abandonment.abandoned,
      result: options.result,
    });
    return abandonment.explain(outcome);
  } finally {
    clearTimeout(timer);
  }
}

/** The lease is renewed while the handler runs, so it is looked up when it is asked for. */
function withKey(job: ActiveJob<unknown>, keyed: KeyedTry): ActiveJob<unknown> {
  return {
    ...job,
    key: keyed.key.key,
    get lease() {
      return keyed.lease();
    },
  };
}

/** A core message can be heard before the stream has stored it, so one look is not enough. */
export const LOOK_AFTER_MS: readonly number[] = [0, 20, 100, 500, 2_000];

async function lookUntilClear(
  item: WorkItem,
  running: RunningTry,
  options: LifeOptions,
): Promise<JobAborted | undefined> {
  for (const waitMs of LOOK_AFTER_MS) {
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (!running.active) return undefined;
    const reason = await lookAgain(item, running, options);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Why the handler must stop, if the history says so. What is heard is a hint; what is read decides. */
async function lookAgain(
  item: WorkItem,
  running: RunningTry,
  { lifecycle, instanceId }: LifeOptions,
): Promise<JobAborted | undefined> {
  const snapshot = await lifecycle.read(item);
  // A replica that lags behind our own start has nothing to say.
  if (snapshot === undefined || snapshot.lastSequence < running.sequence) return undefined;
  const { job } = snapshot;
  if (job.state === "cancelled" || job.state === "expired") {
    return new JobAborted(job.state, endMessage(job));
  }
  const mine = job.state === "active" && job.instanceId === instanceId &&
    job.tries === running.shared.tries;
  if (mine) return undefined;
  if (job.state === "stale") return new JobAborted("lease-lost", endMessage(job));
  const now = isTerminal(job.state) ? job.state : `run by ${job.instanceId ?? "another worker"}`;
  return new JobAborted("superseded", `the job is ${now}`);
}

function endMessage(job: Job): string {
  const by = job.actor === undefined ? "" : ` by ${job.actor}`;
  const why = job.reason === undefined ? "" : `: ${job.reason}`;
  return `the job is ${job.state}${by}${why}`;
}
