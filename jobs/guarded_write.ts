/**
 * One guarded write: read, decide, write what is expected to be the job's next event; one wins.
 *
 * @module
 */

import {
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
} from "../protocol/mod.ts";
import type { Lifecycle, WriteOutcome } from "./lifecycle.ts";

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

/** A worker's progress can come between again and again; more races than this are not that. */
const MOST_RACES = 30;

/** One change of a job. */
export interface GuardedWrite {
  /** What is done, for people. */
  readonly verb: string;
  /** The states in which it may be done. */
  readonly from: readonly JobState[];
  /** What else must be so; true when left out. */
  readonly applies?: (job: Job) => boolean;
  /** Makes the event from the job as it was found. */
  readonly build: (job: Job, now: number) => JobEvent;
  /** The present instant. */
  readonly clock: () => number;
}

/** Reads, decides, writes what it expects to be the next event, and begins again when it was not. */
export async function guardedWrite(
  lifecycle: Lifecycle,
  address: JobAddress,
  { verb, from, applies = () => true, build, clock }: GuardedWrite,
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
    if (!from.includes(job.state) || !applies(job)) return err(wrongState(cannot, job, from));
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

/** What every event about a found job carries. */
export function sharedFields(
  job: Job,
  now: number,
): Pick<JobEvent, "jobId" | "service" | "jobType" | "context" | "timestamp"> & {
  readonly previousState: JobState;
} {
  return {
    jobId: job.id,
    service: job.service,
    jobType: job.type,
    context: job.context,
    previousState: job.state,
    timestamp: new Date(now).toISOString(),
  };
}
