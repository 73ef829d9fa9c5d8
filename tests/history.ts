/** The whole history of all jobs, read anew from the stream, and what must be true of it. */

import { isDeepStrictEqual } from "node:util";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import {
  decodeEvent,
  type Job,
  type JobEvent,
  type JobEventType,
  JOBS_STREAM,
  reduce,
  serverCapabilities,
  transition,
  valueOrThrow,
} from "../protocol/mod.ts";

/** The events of one job in the order of the stream, and what they fold to. */
export interface JobHistory {
  /** The events, oldest first. */
  readonly events: readonly JobEvent[];
  /** The places of the events in the stream. */
  readonly sequences: readonly number[];
  /** The fold of the events. */
  readonly job: Job | undefined;
  /** Every way in which the history is not a legal one; empty for a sound history. */
  readonly problems: readonly string[];
}

/** Reads every event that is stored, over a connection of its own, by job id. */
export async function readHistory(url: string): Promise<Map<string, JobHistory>> {
  await using nc = await connect({ servers: url });
  const capabilities = valueOrThrow(serverCapabilities(nc.info?.version ?? ""));
  const { state } = await (await jetstreamManager(nc)).streams.info(JOBS_STREAM);
  const found = new Map<string, { events: JobEvent[]; sequences: number[] }>();
  if (state.messages > 0) {
    const consumer = await jetstream(nc).consumers.get(JOBS_STREAM);
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const message of messages) {
      const decoded = decodeEvent(message.subject, message.data, message.headers);
      if (!decoded.ok) throw new Error(`Cannot read ${message.subject}: ${decoded.error.message}`);
      const { jobId } = decoded.value;
      const job = found.get(jobId) ?? { events: [], sequences: [] };
      found.set(jobId, job);
      job.events.push(decoded.value);
      job.sequences.push(message.seq);
      // The last place may be that of a message that has been deleted.
      if (message.seq >= state.last_seq || message.info.pending === 0) break;
    }
    await messages.close();
  }
  return new Map([...found].map(([jobId, { events, sequences }]) => [jobId, {
    events,
    sequences,
    ...judgeHistory(events, capabilities.lifecycleCompareAndSet),
  }]));
}

/**
 * Folds a history and names whatever in it the transition table does not allow.
 *
 * A server that cannot compare a job's newest event stores what both of two overlapping tries
 * write, and the fold decides: there, a job that was started more than once may hold events that
 * came too late to count. A job that was started once may not, nor may any job elsewhere.
 */
export function judgeHistory(
  events: readonly JobEvent[],
  compares = true,
): { job: Job | undefined; problems: string[] } {
  const problems: string[] = [];
  const overlapped = events.filter(({ eventType }) => eventType === "started").length > 1;
  let job: Job | undefined;
  events.forEach((event, index) => {
    const problem = identityProblem(job, event, events[0]) ??
      (compares || !overlapped ? orderProblem(job, event) : undefined);
    if (problem !== undefined) {
      problems.push(`${event.jobId} event ${index}, ${event.eventType}: ${problem}`);
    }
    job = reduce(job, event);
  });
  return { job, problems };
}

/** All that is wrong in many histories, and nothing else: what a test compares with `[]`. */
export function allProblems(history: ReadonlyMap<string, JobHistory>): string[] {
  return [...history.values()].flatMap(({ problems }) => problems);
}

/** How many events of a kind a job has. */
export function countOf(history: JobHistory | undefined, eventType: JobEventType): number {
  return history?.events.filter((event) => event.eventType === eventType).length ?? 0;
}

/** What no race excuses. */
function identityProblem(
  job: Job | undefined,
  event: JobEvent,
  first: JobEvent | undefined,
): string | undefined {
  if (job === undefined && event.eventType !== "created") return "it is not legal in none";
  if (job !== undefined && event.tries > job.maxTries) {
    return `it is try ${event.tries} of ${job.maxTries}`;
  }
  return isDeepStrictEqual(event.context, first?.context)
    ? undefined
    : "its context is another one";
}

function orderProblem(job: Job | undefined, event: JobEvent): string | undefined {
  const from = job?.state ?? "none";
  const to = transition(from, event);
  // A second terminal event of one life is caught here too: no row leads from one end to another.
  if (to === undefined) return `it is not legal in ${from}`;
  if (event.state !== to) return `it says ${event.state} and leads to ${to}`;
  if ("previousState" in event && event.previousState !== from) {
    return `it says that the job was ${event.previousState}, which was ${from}`;
  }
  const tries = triesAfter(job, event);
  return event.tries === tries ? undefined : `it counts ${event.tries} tries instead of ${tries}`;
}

/** What the count of tries must be: a start adds one, and what is handed back takes it away. */
function triesAfter(job: Job | undefined, event: JobEvent): number {
  const before = job?.tries ?? 0;
  if (event.eventType === "created" || event.eventType === "retried") return 0;
  if (event.eventType === "started") return before + 1;
  const handedBack = event.eventType === "retry" &&
    (event.reason === "shutdown" || event.reason === "snooze");
  return handedBack ? before - 1 : before;
}
