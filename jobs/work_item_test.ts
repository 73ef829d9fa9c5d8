import assert from "node:assert/strict";
import type { Message } from "../nats/mod.ts";
import { encodeJson, type JobCreatedEvent, valueOrThrow } from "../protocol/mod.ts";
import { readWorkItem } from "./work_item.ts";

const queue = { service: "billing", jobType: "charge" };
const reply = "$JS.ACK.JOBS_WORK.billing-charge.2.41.7.1700000000000000000.0";
const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const created: JobCreatedEvent = {
  ...queue,
  jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
  eventType: "created",
  state: "pending",
  context: { requestId: "r-1", traceId, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
  tries: 0,
  timestamp: "2026-01-01T00:00:00.000Z",
  payload: { orderId: "o-1" },
  maxTries: 5,
};

function message(body: unknown, change: Partial<Message> = {}, header = ""): Message {
  const headers = {
    code: 0,
    description: "",
    get: (name: string) => name === "Nats-Stream-Source" ? header : "",
    has: () => false,
    values: () => [],
  };
  const data = valueOrThrow(encodeJson(body));
  return { subject: "trellis.work.billing.charge", reply, data, headers, ...change };
}

function problem(read: ReturnType<typeof readWorkItem>): string {
  return read.ok ? "none" : read.error.reason;
}

Deno.test("readWorkItem() reads the job, the delivery and the event that made the work", () => {
  const source = "JOBS 41 trellis.jobs.*.*.*.created trellis.work.$1.$2";
  const item = valueOrThrow(readWorkItem(message(created, {}, source), queue));
  assert.deepEqual(item, {
    ...queue,
    jobId: created.jobId,
    reply,
    deliveries: 2,
    sourceSequence: 41,
    payload: { orderId: "o-1" },
    maxTries: 5,
    context: created.context,
    enqueuedAt: created.timestamp,
  });
});

Deno.test("readWorkItem() reads retried work too, with its deadline", () => {
  const deadline = "2026-01-02T00:00:00.000Z";
  const retried = { ...created, eventType: "retried", previousState: "dead", deadline };
  const item = valueOrThrow(readWorkItem(message(retried), queue));
  assert.equal(item.deadline, deadline);
});

Deno.test("readWorkItem() believes only a source of its own stream", () => {
  for (const header of ["", "OTHER 41 x", "JOBS x", "JOBS 0", "JOBS", "JOBSX 4"]) {
    const item = valueOrThrow(readWorkItem(message(created, {}, header), queue));
    assert.equal(item.sourceSequence, undefined, header);
  }
});

Deno.test("readWorkItem() says what is wrong with a message that is no work of this queue", () => {
  const { payload: _p, maxTries: _m, ...rest } = created;
  const completed = {
    ...rest,
    eventType: "completed",
    state: "completed",
    previousState: "active",
  };
  const other = { subject: "trellis.work.billing.refund" };
  const cases: [string, Message][] = [
    ["no-delivery", message(created, { reply: undefined })],
    ["no-delivery", message(created, { reply: "_INBOX.x.1" })],
    ["not-json", message(created, { data: new Uint8Array([0xff, 0x00]) })],
    ["malformed", message({ ...created, maxTries: "5" })],
    ["malformed", message([])],
    ["unknown-event", message({ ...created, eventType: "paused" })],
    ["unexpected-event", message(completed)],
    ["mismatch", message({ ...created, jobType: "refund" })],
    ["mismatch", message({ ...created, jobType: "refund" }, other)],
    ["mismatch", message(created, other)],
  ];
  for (const [reason, bad] of cases) assert.equal(problem(readWorkItem(bad, queue)), reason);
});
