/**
 * Ending a job whose work was delivered too often without a word from any worker.
 *
 * @module
 */

import type { Lifecycle } from "../../jobs/mod.ts";
import { isTerminal, type Job, type JobAddress, type JobEvent } from "../../protocol/mod.ts";

/** The work message that was given up by the server. */
export interface ExhaustedWork {
  /** The job. */
  readonly job: JobAddress;
  /** How often it was delivered. */
  readonly deliveries: number;
  /** Place in `JOBS` of the event that made this work; 0 when that is not known. */
  readonly sourceSequence: number;
}

/** What became of it. */
export type Buried =
  /** It is `dead` now. */
  | "dead"
  /** It had ended already. */
  | "already-ended"
  /** It lives on with other work: this was a former life's. */
  | "superseded"
  /** There is no such job. */
  | "gone";

const MOST_RACES = 10;

/** Writes `dead` unless the job has ended or was put back to work since. Rejects when nobody answers. */
export async function bury(
  lifecycle: Lifecycle,
  { job: address, deliveries, sourceSequence }: ExhaustedWork,
  clock: () => number,
): Promise<Buried> {
  for (let race = 0; race < MOST_RACES; race++) {
    const snapshot = await lifecycle.read(address);
    if (snapshot === undefined) return "gone";
    const { job, lastSequence } = snapshot;
    if (isTerminal(job.state)) return "already-ended";
    const retriedAt = await lifecycle.readOwnSequence(address, "retried");
    if (sourceSequence > 0 && retriedAt > sourceSequence) return "superseded";
    const event = deadEvent(job, deliveries, clock());
    const written = await lifecycle.write(event, { expect: { lastSequence } });
    if (written.kind === "stored") return "dead";
    if (written.kind !== "lost") throw new Error(`dead is not stored: ${written.kind}`);
  }
  throw new Error(`job ${address.jobId} keeps changing`);
}

function deadEvent(job: Job, deliveries: number, now: number): JobEvent {
  const last = job.lastError === undefined ? "" : `; the last error was: ${job.lastError}`;
  return {
    jobId: job.id,
    service: job.service,
    jobType: job.type,
    context: job.context,
    tries: job.tries,
    previousState: job.state,
    timestamp: new Date(now).toISOString(),
    eventType: "dead",
    state: "dead",
    error: `its work was delivered ${deliveries} times and no worker said how it ended${last}`,
  };
}
