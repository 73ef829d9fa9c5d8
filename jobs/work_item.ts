/**
 * A message from the work stream, read and checked: which job, which life, which delivery.
 *
 * @module
 */

import { type Message, parseDelivery } from "../nats/mod.ts";
import {
  decodeEventBody,
  err,
  type JobAddress,
  type JobContext,
  JOBS_STREAM,
  ok,
  type QueueAddress,
  type Result,
  workSubject,
} from "../protocol/mod.ts";
import type { JobKey } from "./key_port.ts";

/** Work to do, as the work stream delivered it. */
export interface WorkItem extends JobAddress {
  /** Where the delivery is settled. */
  readonly reply: string;
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
  /** Place in `JOBS` of the event that made this work; `undefined` when it was put here by hand. */
  readonly sourceSequence?: number;
  /** The job's input, not yet validated. */
  readonly payload: unknown;
  /** Tries the job has. */
  readonly maxTries: number;
  /** When nobody wants the result any more. */
  readonly deadline?: string;
  /** The job's correlation. */
  readonly context: JobContext;
  /** When the job was created or retried. */
  readonly enqueuedAt: string;
  /** Its key, if it was created in a keyed queue; a retry does not repeat it. */
  readonly key?: JobKey;
}

/** Why a message is not work of this queue. */
export interface WorkProblem {
  /** The kind of problem, to be counted by. */
  readonly reason: string;
  /** A sentence for people. */
  readonly message: string;
}

/** Reads a work message; anything that is not this queue's work is a value with a reason. */
export function readWorkItem(
  message: Message,
  queue: QueueAddress,
): Result<WorkItem, WorkProblem> {
  const delivery = parseDelivery(message.reply);
  if (delivery === undefined || message.reply === undefined) {
    return err({ reason: "no-delivery", message: "it cannot be acknowledged" });
  }
  const decoded = decodeEventBody(message.data, message.headers);
  if (!decoded.ok) return decoded;
  const event = decoded.value;
  if (event.eventType !== "created" && event.eventType !== "retried") {
    return err({ reason: "unexpected-event", message: `${event.eventType} makes no work` });
  }
  const own = workSubject(event);
  if (own !== message.subject || own !== workSubject(queue)) {
    return err({ reason: "mismatch", message: `the body is about ${own}, not ${message.subject}` });
  }
  const sourceSequence = readSource(message.headers?.get("Nats-Stream-Source") ?? "");
  return ok({
    service: event.service,
    jobType: event.jobType,
    jobId: event.jobId,
    reply: message.reply,
    deliveries: delivery.deliveries,
    payload: event.payload,
    maxTries: event.maxTries,
    context: event.context,
    enqueuedAt: event.timestamp,
    ...(event.deadline !== undefined && { deadline: event.deadline }),
    ...(sourceSequence !== undefined && { sourceSequence }),
    ...("concurrency" in event && event.concurrency !== undefined && { key: event.concurrency }),
  });
}

/** `JOBS 41 …`: the second field is the place in the sourced stream. */
function readSource(header: string): number | undefined {
  if (!header.startsWith(`${JOBS_STREAM} `)) return undefined;
  const sequence = Number.parseInt(header.slice(JOBS_STREAM.length + 1), 10);
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : undefined;
}
