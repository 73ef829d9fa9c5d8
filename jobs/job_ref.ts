/**
 * A reference to a job: works from the id alone, in any process, after any restart.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  err,
  isTerminal,
  type Job,
  type JobAddress,
  jobFilter,
  JobsError,
  ok,
  parseLifecycleSubject,
  type Result,
  type StandardSchema,
  TERMINAL_STATES,
  type TerminalState,
} from "../protocol/mod.ts";
import type { CommandOptions, Commands } from "./commands.ts";
import type { CommandError } from "./guarded_write.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { validatePayload } from "./payload.ts";

/** A job as its owner sees it: input and result in the types of the queue. */
export type JobView<Payload, Output> = Omit<Job, "payload" | "result"> & {
  /** The input, as it was given to `create`. */
  readonly payload: Payload;
  /** The result, once completed. */
  readonly result?: Output;
};

/** How a job ended. */
export type FinishedJob<Payload, Output> =
  | {
    /** It succeeded. */
    readonly state: "completed";
    /** What the handler returned. */
    readonly result: Output;
    /** All that is known of it. */
    readonly job: JobView<Payload, Output>;
  }
  | {
    /** It did not. */
    readonly state: Exclude<TerminalState, "completed">;
    /** Why, for people. */
    readonly error: string;
    /** All that is known of it. */
    readonly job: JobView<Payload, Output>;
  };

/** Why a job cannot be read. */
export type ReadFailure = "not-found" | "unavailable" | "invalid-result";
/** Why a wait ended without the job's end. */
export type WaitFailure = ReadFailure | "timeout" | "aborted";

/** How long to wait. */
export interface WaitOptions {
  /** Give up after this; never when left out. */
  readonly timeoutMs?: number;
  /** Give up when this is aborted. */
  readonly signal?: AbortSignal;
}

/** A reference to a job. */
export interface JobRef<Payload, Output> {
  /** ULID. */
  readonly id: string;
  /** Reads the job. Logs are those of the newest log event; the whole log is the admin's. */
  get(): AsyncResult<JobView<Payload, Output>, JobsError<ReadFailure>>;
  /** Waits until the job has ended, however. */
  wait(options?: WaitOptions): AsyncResult<FinishedJob<Payload, Output>, JobsError<WaitFailure>>;
  /** Ends the job; when it has ended already, gives it as it ended. */
  cancel(options?: CommandOptions): AsyncResult<JobView<Payload, Output>, CommandError>;
}

/** What a reference needs. */
export interface JobRefDependencies {
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** The commands. */
  readonly commands: Commands;
  /** Schema of the result. */
  readonly result: StandardSchema | undefined;
}

/** A missed core message costs at most this long, and then ever longer up to the most. */
const FIRST_LOOK_MS = 500;
const SLOWEST_LOOK_MS = 5_000;

/** Makes a reference to a job. */
export function createJobRef<Payload, Output>(
  address: JobAddress,
  { lifecycle, commands, result }: JobRefDependencies,
): JobRef<Payload, Output> {
  const view = async (
    job: Job,
  ): Promise<Result<JobView<Payload, Output>, JobsError<"invalid-result">>> => {
    // The payload was judged by the queue's schema before it was stored: this is its type.
    const payload = job.payload as Payload;
    const { result: raw, payload: _, ...rest } = job;
    if (job.state !== "completed" || result === undefined) return ok({ ...rest, payload });
    const judged = await validatePayload(result, raw);
    if (!judged.ok) {
      const message = `Cannot read job ${job.id}: its result does not fit, ${judged.error}`;
      return err(new JobsError("invalid-result", message));
    }
    // The schema gave this back, and Output is what it gives back.
    return ok({ ...rest, payload, result: judged.value as Output });
  };
  const get = async (): Promise<Result<JobView<Payload, Output>, JobsError<ReadFailure>>> => {
    const read = await readJob(lifecycle, address);
    return read.ok ? await view(read.value) : read;
  };
  return {
    id: address.jobId,
    get: () => asyncResult(get()),
    wait: (options = {}) =>
      asyncResult(
        waitForEnd(lifecycle, address, options).then(async (ended) => {
          if (!ended.ok) return ended;
          const seen = await view(ended.value);
          return seen.ok ? ok(finished(seen.value)) : seen;
        }),
      ),
    cancel: (options) =>
      asyncResult(
        commands.cancel(address, options).then(async (cancelled) => {
          const job = cancelled.ok ? cancelled.value : cancelled.error.job;
          if (job === undefined) return cancelled as Result<never, CommandError>;
          const seen = await view(job);
          // A result that no longer fits does not make the job less finished.
          return ok(
            seen.ok
              ? seen.value
              : { ...job, payload: job.payload as Payload, result: undefined as Output },
          );
        }),
      ),
  };
}

function finished<Payload, Output>(job: JobView<Payload, Output>): FinishedJob<Payload, Output> {
  if (job.state === "completed") {
    // Without a result schema Output is undefined, and so is the result.
    return { state: "completed", result: job.result as Output, job };
  }
  const state = isTerminal(job.state) ? job.state : "dismissed";
  return { state, error: whyEnded(job), job };
}

/** A job that was ended from outside ended for that reason, not for an earlier try's error. */
function whyEnded(
  { state, reason, lastError }: Pick<Job, "state" | "reason" | "lastError">,
): string {
  const byHand = state === "cancelled" || state === "dismissed";
  return reason ?? (byHand ? undefined : lastError) ?? `the job is ${state}`;
}

async function readJob(
  lifecycle: Lifecycle,
  address: JobAddress,
): Promise<Result<Job, JobsError<"not-found" | "unavailable">>> {
  try {
    const snapshot = await lifecycle.read(address);
    if (snapshot !== undefined) return ok(snapshot.job);
    return err(new JobsError("not-found", `Cannot read job ${address.jobId}: there is none`));
  } catch (cause) {
    const message = `Cannot read job ${address.jobId}: the server does not answer`;
    return err(new JobsError("unavailable", message, { cause }));
  }
}

/** Every terminal state is named like the event that leads there. */
function tellsOfEnd(subject: string): boolean {
  const parsed = parseLifecycleSubject(subject);
  return parsed.ok && TERMINAL_STATES.some((state) => state === parsed.value.eventType);
}

/**
 * Subscribes first, then reads, and reads again on a timer: what is heard is a hint, what is read
 * decides, and a hint that was missed costs seconds.
 */
async function waitForEnd(
  lifecycle: Lifecycle,
  address: JobAddress,
  { timeoutMs, signal }: WaitOptions,
): Promise<Result<Job, JobsError<WaitFailure>>> {
  const giveUpAt = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
  const stopped = Promise.withResolvers<"stopped">();
  const stop = () => stopped.resolve("stopped");
  const stopTimer = timeoutMs === undefined ? undefined : setTimeout(stop, timeoutMs);
  let wake: () => void = () => {};
  let heard = false;
  const hint = () => {
    heard = true;
    wake();
  };
  const subscription = lifecycle.connection.subscribe(jobFilter(address), {
    callback(error, message) {
      if (error !== null || tellsOfEnd(message.subject)) hint();
    },
  });
  stopped.promise.then(hint);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (let lookMs = FIRST_LOOK_MS;; lookMs = Math.min(lookMs * 2, SLOWEST_LOOK_MS)) {
      heard = false;
      if (signal?.aborted) {
        return err(new JobsError("aborted", `Cannot wait for job ${address.jobId}: aborted`));
      }
      // The caller's limits hold also while there is no server to answer.
      const read = await Promise.race([readJob(lifecycle, address), stopped.promise]);
      if (read !== "stopped") {
        if (read.ok && isTerminal(read.value.state)) return read;
        if (!read.ok && read.error.reason === "not-found") return read;
      }
      if (signal?.aborted) continue;
      const leftMs = giveUpAt - Date.now();
      if (leftMs <= 0) {
        const state = read !== "stopped" && read.ok ? read.value.state : "not readable";
        const message =
          `Cannot wait longer for job ${address.jobId}: it is ${state} after ${timeoutMs} ms`;
        return err(new JobsError("timeout", message));
      }
      if (heard) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(lookMs, leftMs));
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  } finally {
    clearTimeout(stopTimer);
    signal?.removeEventListener("abort", stop);
    if (!lifecycle.connection.isClosed()) subscription.unsubscribe();
  }
}
