/**
 * Storing how a try ended; only after that may the delivery be settled.
 *
 * @module
 */

import type { Settlement } from "../nats/mod.ts";
import { isTerminal, type JobEvent } from "../protocol/mod.ts";
import type { RunningTry } from "./active_job.ts";
import type { Verdict } from "./decide.ts";
import type { LifeOptions } from "./job_life.ts";
import type { WriteOutcome } from "./lifecycle.ts";

const MOST_RACES = 50;
const ACK: Settlement = { kind: "ack" };
const LEAVE: Settlement = { kind: "leave" };

/** Stores the verdict's event and tells how the delivery is to be settled. */
export async function recordVerdict(
  verdict: Verdict,
  running: RunningTry,
  options: LifeOptions,
): Promise<Settlement> {
  let { event, settlement } = verdict;
  if (event === undefined) return settlement;
  for (let race = 0; race < MOST_RACES; race++) {
    const expect = { lastSequence: running.sequence };
    const outcome: WriteOutcome = await options.lifecycle.write(event, { expect });
    switch (outcome.kind) {
      case "stored":
        return settlement;
      case "lost": {
        const found = await whoWon(running, options);
        if (found !== "still-ours") return found;
        break;
      }
      case "too-large":
      case "unwritable":
        event = unwritableResult(event, outcome);
        settlement = ACK;
        break;
      default:
        options.log("error", "end-unwritten", {
          ...options.queue,
          jobId: event.jobId,
          eventType: event.eventType,
          kind: outcome.kind,
          description: outcome.description,
        });
        return LEAVE;
    }
  }
  return LEAVE;
}

/**
 * Another event came first. A progress of our own is no winner: we go on from there. An end by
 * somebody else is one, and a start by another worker means that the delivery is theirs too.
 */
async function whoWon(
  running: RunningTry,
  { lifecycle, instanceId }: LifeOptions,
): Promise<Settlement | "still-ours"> {
  const snapshot = await lifecycle.read(running.shared);
  if (snapshot === undefined) return ACK;
  const { job, lastSequence } = snapshot;
  running.beatenBy = job.state;
  if (isTerminal(job.state)) return ACK;
  const ours = job.state === "active" && job.instanceId === instanceId &&
    job.tries === running.shared.tries;
  if (!ours) return LEAVE;
  running.sequence = lastSequence;
  return "still-ours";
}

/** The result cannot be kept, so the job has not succeeded; trying again would not change that. */
function unwritableResult(
  event: JobEvent,
  outcome: Extract<WriteOutcome, { kind: "too-large" | "unwritable" }>,
): JobEvent {
  const why = outcome.kind === "too-large"
    ? `it makes a message of ${outcome.bytes} bytes, the server takes ${outcome.most}`
    : outcome.description;
  const { jobId, service, jobType, context, tries, timestamp } = event;
  return {
    jobId,
    service,
    jobType,
    context,
    tries,
    timestamp,
    previousState: "active",
    eventType: "failed",
    state: "failed",
    error: `Cannot complete: the result cannot be stored, ${why}`,
  };
}
