/**
 * Steering a job from outside: each command is one guarded write, and one wins.
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
  type JobEvent,
  JobsError,
  type JobSnapshot,
  type JobState,
  ok,
  reduce,
  type Result,
  statesBefore,
} from "../protocol/mod.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { WriteOutcome } from "./write_event.ts";

/** Why a command had no effect, or is not known to have one. */
export type CommandFailure = "not-found" | "wrong-state" | "busy" | "unconfirmed" | "refused";

/** A command that had no effect, or is not known to have one. */
export class CommandError extends JobsError<CommandFailure> {
  /** The job as it stands, when `reason` is `wrong-state`. */
  readonly job?: Job;

  /** Makes the error with its reason and sentence. */
  constructor(reason: CommandFailure, message: string, job?: Job) {
    super(reason, message);
    this.name = "CommandError";
    if (job !== undefined) this.job = job;
  }
}

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

/** A worker's progress can come between again and again; more races than this are not that. */
const MOST_RACES = 30;

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

interface GuardedWrite {
  readonly verb: string;
  readonly from: readonly JobState[];
  readonly build: (job: Job, now: number) => JobEvent;
  readonly clock: () => number;
}

/** Reads, decides, writes what it expects to be the next event, and begins again when it was not. */
async function guardedWrite(
  lifecycle: Lifecycle,
  address: JobAddress,
  { verb, from, build, clock }: GuardedWrite,
): Promise<Result<Job, CommandError>> {
  const cannot = `Cannot ${verb} job ${address.jobId}`;
  for (let race = 0; race < MOST_RACES; race++) {
    const snapshot = await lifecycle.read(address).catch(() => "silent" as const);
    if (snapshot === "silent") {
      return err(new CommandError("unconfirmed", `${cannot}: the server does not answer`));
    }
    if (snapshot === undefined) {
      return err(new CommandError("not-found", `${cannot}: there is none`));
    }
    const { job } = snapshot;
    if (!from.includes(job.state)) return err(wrongState(cannot, job, from));
    const event = build(job, clock());
    const outcome = await lifecycle.write(event, {
      expect: await expectation(lifecycle, snapshot, event),
    });
    if (outcome.kind === "stored") return await settled(lifecycle, cannot, snapshot, event, from);
    if (outcome.kind !== "lost") return err(unwritten(cannot, outcome));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * race));
  }
  return err(new CommandError("busy", `${cannot}: it keeps changing, try again`));
}

/** On servers that compare only a plain subject, two retries of one job are told apart by that. */
async function expectation(
  { capabilities, readOwnSequence }: Lifecycle,
  { lastSequence, job }: JobSnapshot,
  event: JobEvent,
): Promise<{ lastSequence: number; ownSequence?: number }> {
  if (capabilities.lifecycleCompareAndSet || event.eventType !== "retried") return { lastSequence };
  const address = { service: job.service, jobType: job.type, jobId: job.id };
  return { lastSequence, ownSequence: await readOwnSequence(address, "retried") };
}

/** Where the server could not compare, the fold says whether the stored event had an effect. */
async function settled(
  lifecycle: Lifecycle,
  cannot: string,
  { job }: JobSnapshot,
  event: JobEvent,
  from: readonly JobState[],
): Promise<Result<Job, CommandError>> {
  const expected = reduce(job, event) ?? job;
  if (lifecycle.capabilities.lifecycleCompareAndSet) return ok(expected);
  const now = await lifecycle.read(event).catch(() => undefined);
  if (now === undefined || !isTerminal(expected.state) || now.job.state === expected.state) {
    return ok(expected);
  }
  return err(wrongState(cannot, now.job, from));
}

function wrongState(cannot: string, job: Job, from: readonly JobState[]): CommandError {
  const message = `${cannot}: it is ${job.state}, not ${from.join(" or ")}`;
  return new CommandError("wrong-state", message, job);
}

function unwritten(
  cannot: string,
  outcome: Exclude<WriteOutcome, { kind: "stored" | "lost" }>,
): CommandError {
  const said = "description" in outcome
    ? outcome.description
    : `${outcome.bytes} bytes are too many`;
  const reason = outcome.kind === "unconfirmed" ? "unconfirmed" : "refused";
  return new CommandError(reason, `${cannot}: ${said}`);
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

function sharedFields(job: Job, now: number) {
  return {
    jobId: job.id,
    service: job.service,
    jobType: job.type,
    context: job.context,
    previousState: job.state,
    timestamp: new Date(now).toISOString(),
  };
}
