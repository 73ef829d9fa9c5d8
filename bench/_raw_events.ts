/** The events of the hand-written loop: every field of the protocol, and the headers that guard them. */

import { monotonicFactory } from "ulid";
import { type JobAddress, type JobContext, jobFilter } from "../protocol/mod.ts";

/** What is published: body and headers, as bytes. */
export interface RawEvent {
  readonly data: Uint8Array;
  readonly headers: Uint8Array;
}

const encoder = new TextEncoder();
const nextId = monotonicFactory();
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const chance = new Uint8Array(4_096);
let chanceUsed = chance.length;

/** Gives a fresh job id. */
export function rawJobId(): string {
  return nextId();
}

/** Writes `created`. */
export function rawCreated(job: JobAddress, payload: unknown): RawEvent {
  const traceId = hex(16);
  const context: JobContext = {
    requestId: `req-${hex(8)}`,
    traceId,
    traceparent: `00-${traceId}-${hex(8)}-01`,
  };
  const data = encoder.encode(JSON.stringify({
    jobId: job.jobId,
    service: job.service,
    jobType: job.jobType,
    eventType: "created",
    state: "pending",
    context,
    tries: 0,
    timestamp: new Date().toISOString(),
    payload,
    maxTries: 5,
  }));
  return { data, headers: rawHeaders(context, jobFilter(job), 0) };
}

/** Writes `started`, which expects the event that made the work. */
export function rawStarted(
  job: JobAddress,
  context: JobContext,
  filter: string,
  expected: number,
  instanceId: string,
): RawEvent {
  const data = encoder.encode(JSON.stringify({
    jobId: job.jobId,
    service: job.service,
    jobType: job.jobType,
    eventType: "started",
    state: "active",
    context,
    tries: 1,
    timestamp: new Date().toISOString(),
    previousState: "pending",
    instanceId,
  }));
  return { data, headers: rawHeaders(context, filter, expected) };
}

/** Writes `completed`, which expects our own `started`. */
export function rawCompleted(
  job: JobAddress,
  context: JobContext,
  filter: string,
  expected: number,
): RawEvent {
  const data = encoder.encode(JSON.stringify({
    jobId: job.jobId,
    service: job.service,
    jobType: job.jobType,
    eventType: "completed",
    state: "completed",
    context,
    tries: 1,
    timestamp: new Date().toISOString(),
    previousState: "active",
  }));
  return { data, headers: rawHeaders(context, filter, expected) };
}

function rawHeaders(context: JobContext, filter: string, expected: number): Uint8Array {
  return encoder.encode(
    `NATS/1.0\r\nrequest-id: ${context.requestId}\r\ntraceparent: ${context.traceparent}\r\n` +
      `Nats-Expected-Last-Subject-Sequence: ${expected}\r\n` +
      `Nats-Expected-Last-Subject-Sequence-Subject: ${filter}\r\n\r\n`,
  );
}

function hex(bytes: number): string {
  if (chanceUsed + bytes > chance.length) {
    crypto.getRandomValues(chance);
    chanceUsed = 0;
  }
  let text = "";
  for (const end = chanceUsed + bytes; chanceUsed < end; chanceUsed++) {
    text += HEX[chance[chanceUsed] ?? 0];
  }
  return text;
}
