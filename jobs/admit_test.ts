import assert from "node:assert/strict";
import { type Job, JOB_STATES, type JobSnapshot, TERMINAL_STATES } from "../protocol/mod.ts";
import { admit, admitFresh } from "./admit.ts";
import type { WorkItem } from "./work_item.ts";

const NOW = Date.parse("2026-01-01T00:00:00.000Z");
const PAST = "2025-12-31T23:59:59.999Z";
const FUTURE = "2026-01-01T00:00:00.001Z";
const context = { requestId: "r-1", traceId: "4bf92f3577b34da6a3ce929d0e0e4736", traceparent: "…" };

const item: WorkItem = {
  service: "billing",
  jobType: "charge",
  jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
  reply: "$JS.ACK.JOBS_WORK.billing-charge.1.41.7.1700000000000000000.0",
  deliveries: 1,
  sourceSequence: 7,
  payload: {},
  maxTries: 3,
  context,
  enqueuedAt: PAST,
};

function snapshot(change: Partial<Job> = {}, lifeSequence = 7): JobSnapshot {
  const job: Job = {
    id: item.jobId,
    service: item.service,
    type: item.jobType,
    state: "pending",
    context,
    payload: {},
    createdAt: PAST,
    updatedAt: PAST,
    tries: 0,
    maxTries: 3,
    ...change,
  };
  return { job, lastSequence: 9, lifeSequence };
}

Deno.test("admitFresh() runs the first try and expects the event that made the work", () => {
  const run = { kind: "run", tries: 1, previousState: "pending", lastSequence: 7 };
  assert.deepEqual(admitFresh(item, 7, NOW), run);
  assert.deepEqual(admitFresh({ ...item, deadline: FUTURE }, 7, NOW), run);
});

Deno.test("admitFresh() expires work at its deadline, without a try", () => {
  const expire = { kind: "expire", tries: 0, previousState: "pending", lastSequence: 7 };
  for (const deadline of [PAST, new Date(NOW).toISOString()]) {
    assert.deepEqual(admitFresh({ ...item, deadline }, 7, NOW), expire);
  }
});

Deno.test("admit() runs a job from every state that is no end, and counts on", () => {
  for (const state of ["pending", "retry", "active"] as const) {
    assert.deepEqual(admit(item, snapshot({ state, tries: 1 }), NOW), {
      kind: "run",
      tries: 2,
      previousState: state,
      lastSequence: 9,
    });
  }
});

Deno.test("admit() never runs a job that has ended", () => {
  for (const state of TERMINAL_STATES) {
    const admission = admit(item, snapshot({ state }), NOW);
    assert.deepEqual(admission, { kind: "over", why: `it is ${state}` });
  }
  assert.equal(TERMINAL_STATES.length, JOB_STATES.length - 3);
  assert.equal(admit(item, undefined, NOW).kind, "over");
});

Deno.test("admit() leaves a delivery of an earlier life alone, and takes one of the present life", () => {
  assert.equal(admit(item, snapshot({}, 8), NOW).kind, "over");
  assert.equal(admit({ ...item, sourceSequence: 8 }, snapshot({}, 8), NOW).kind, "run");
});

Deno.test("admit() goes by the job's deadline and not by the delivery's", () => {
  const [past, future] = [{ deadline: PAST }, { deadline: FUTURE }];
  assert.equal(admit({ ...item, ...past }, snapshot(future), NOW).kind, "run");
  assert.deepEqual(admit({ ...item, ...future }, snapshot({ ...past, tries: 2 }), NOW), {
    kind: "expire",
    tries: 2,
    previousState: "pending",
    lastSequence: 9,
  });
});

Deno.test("admit() calls a job exhausted when every try began and none reported an end", () => {
  const crashed = admit(item, snapshot({ state: "active", tries: 3, lastError: "old" }), NOW);
  assert.ok(crashed.kind === "exhausted");
  assert.equal(crashed.error, "the worker ended without a word on try 3 of 3");
  const failed = admit(item, snapshot({ state: "retry", tries: 3, lastError: "boom" }), NOW);
  assert.ok(failed.kind === "exhausted");
  assert.equal(failed.error, "boom");
  assert.equal(admit(item, snapshot({ state: "active", tries: 2 }), NOW).kind, "run");
});
