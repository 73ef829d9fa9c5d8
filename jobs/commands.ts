/**
 * Steering a job from outside: each command is one guarded write, and one wins.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  type Job,
  type JobAddress,
  type JobEvent,
  type JobState,
  statesBefore,
} from "../protocol/mod.ts";
import { type CommandError, guardedWrite, sharedFields } from "./guarded_write.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** Who does it and why. */
export interface CommandOptions {
  /** Who; recorded on the event. */
  readonly actor?: string;
  /** Why; recorded on the event where it has a place for it. */
  readonly reason?: string;
}

/** How a job is put back to work. */
export interface RetryOptions extends CommandOptions {
  /** A new deadline, counted from now; see {@linkcode Commands.retry}. */
  readonly deadlineMs?: number;
  /** Tries it has now; as many as before when left out. */
  readonly maxTries?: number;
}

/** The commands, for any job of any service that the connection may write to. */
export interface Commands {
  /** Ends a waiting or running job; a running handler is aborted. */
  cancel(job: JobAddress, options?: CommandOptions): AsyncResult<Job, CommandError>;
  /** Ends a job whose deadline has passed. */
  expire(job: JobAddress, options?: CommandOptions): AsyncResult<Job, CommandError>;
  /**
   * Puts a failed job back to work with all its tries. A deadline that has passed is set anew, as
   * long after now as it was after creation; else the job would expire at once.
   */
  retry(job: JobAddress, options?: RetryOptions): AsyncResult<Job, CommandError>;
  /** Puts a dead job back to work; like {@linkcode Commands.retry}. */
  replay(job: JobAddress, options?: RetryOptions): AsyncResult<Job, CommandError>;
  /** Closes a dead job. */
  dismiss(job: JobAddress, options?: CommandOptions): AsyncResult<Job, CommandError>;
}

/** Makes the commands over a history. */
export function createCommands(lifecycle: Lifecycle, clock: () => number = Date.now): Commands {
  const command = (
    verb: string,
    from: readonly JobState[],
    build: (job: Job, now: number) => JobEvent,
  ) =>
  (job: JobAddress) => asyncResult(guardedWrite(lifecycle, job, { verb, from, build, clock }));
  const put = (verb: string, from: JobState) => (job: JobAddress, options: RetryOptions = {}) =>
    command(verb, [from], (found, now) => retriedEvent(found, options, now))(job);
  const end = (eventType: "cancelled" | "expired" | "dismissed", verb: string) =>
  (
    job: JobAddress,
    { actor, reason }: CommandOptions = {},
  ) =>
    command(verb, statesBefore(eventType), (found, now) => ({
      ...sharedFields(found, now),
      tries: found.tries,
      eventType,
      state: eventType,
      ...(actor !== undefined && { actor }),
      ...(reason !== undefined && { reason }),
    } as JobEvent))(job);
  return {
    cancel: end("cancelled", "cancel"),
    expire: end("expired", "expire"),
    dismiss: end("dismissed", "dismiss"),
    retry: put("retry", "failed"),
    replay: put("replay", "dead"),
  };
}

function retriedEvent(job: Job, options: RetryOptions, now: number): JobEvent {
  const deadline = newDeadline(job, options.deadlineMs, now);
  return {
    ...sharedFields(job, now),
    tries: 0,
    eventType: "retried",
    state: "pending",
    payload: job.payload,
    maxTries: options.maxTries ?? job.maxTries,
    ...(deadline !== undefined && { deadline }),
    ...(options.actor !== undefined && { actor: options.actor }),
  };
}

function newDeadline(job: Job, deadlineMs: number | undefined, now: number): string | undefined {
  if (deadlineMs !== undefined) return new Date(now + deadlineMs).toISOString();
  if (job.deadline === undefined) return undefined;
  const [deadline, created] = [Date.parse(job.deadline), Date.parse(job.createdAt)];
  if (deadline > now) return job.deadline;
  // A deadline that never left any time would leave none again.
  return deadline > created ? new Date(now + deadline - created).toISOString() : undefined;
}
