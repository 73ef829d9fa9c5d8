import assert from "node:assert/strict";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { ulid } from "ulid";
import { z } from "zod";
import {
  connectService,
  defineJobs,
  durableName,
  encodeEvent,
  type JobCreatedEvent,
  type JobEvent,
  valueOrThrow,
  WORK_STREAM,
  workSubject,
} from "../mod.ts";
import { ended, history, numbered, runOne, streamState } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const service = "poison";
const queue = { service, jobType: "target" };
const payload = numbered;

function createdEvent(change: Partial<JobCreatedEvent> = {}): JobCreatedEvent {
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  return {
    ...queue,
    jobId: ulid(),
    eventType: "created",
    state: "pending",
    context: { requestId: "r-1", traceId, traceparent: `00-${traceId}-00f067aa0ba902b7-01` },
    tries: 0,
    timestamp: new Date().toISOString(),
    payload: { n: 0 },
    maxTries: 5,
    ...change,
  };
}

function bytes(event: JobEvent): Uint8Array {
  return valueOrThrow(encodeEvent(event));
}

/** Asserts that nothing is left in the work queue, and that nothing was delivered twice. */
async function assertDrained(nc: NatsConnection): Promise<void> {
  const manager = await jetstreamManager(nc);
  const { num_redelivered, num_pending } = await manager.consumers.info(
    WORK_STREAM,
    durableName(queue),
  );
  assert.deepEqual({ num_redelivered, num_pending }, { num_redelivered: 0, num_pending: 0 });
  assert.equal((await streamState(nc, WORK_STREAM)).messages, 0);
}

testOnBothServers(
  "start() drops what is no work, says why, and goes on with the queue",
  async (server) => {
    const queues = defineJobs(service, { target: { payload } });
    await using nc = await connect({ servers: server.url });
    const reasons: unknown[] = [];
    await using worker = await connectService(queues, {
      servers: server.url,
      log: (_level, what, { reason }) => void (what === "poison" && reasons.push(reason)),
    }).orThrow();
    const ran: number[] = [];
    worker.jobs.target.handle(({ job }) => void ran.push(job.payload.n));
    await worker.start().orThrow();

    const js = jetstream(nc);
    const { payload: _p, maxTries: _m, ...shared } = createdEvent();
    const wrongEvent: JobEvent = {
      ...shared,
      eventType: "completed",
      state: "completed",
      previousState: "active",
    };
    const unknown = JSON.stringify({ ...createdEvent(), eventType: "paused" });
    const poisons = [
      crypto.getRandomValues(new Uint8Array(64)).fill(0xff, 0, 1),
      new Uint8Array(0),
      new TextEncoder().encode("[1, 2]"),
      new TextEncoder().encode(unknown),
      bytes(wrongEvent),
      bytes(createdEvent({ jobType: "other" })),
    ];
    for (const [index, poison] of poisons.entries()) {
      await js.publish(workSubject(queue), poison);
      // A good job goes through after each of them.
      assert.equal((await runOne(worker.jobs.target, { n: index + 1 })).state, "completed");
    }
    assert.deepEqual(reasons, [
      "not-json",
      "not-json",
      "malformed",
      "unknown-event",
      "unexpected-event",
      "mismatch",
    ]);
    // Well-formed work of a job that has no history is nobody's work either.
    await js.publish(workSubject(queue), bytes(createdEvent()));
    assert.equal((await runOne(worker.jobs.target, { n: 7 })).state, "completed");
    assert.deepEqual(ran, [1, 2, 3, 4, 5, 6, 7]);
    await worker.stop();
    await assertDrained(nc);
  },
);

testOnBothServers(
  "start() fails a payload that does not fit its schema, with the path and without a try",
  async (server) => {
    const mine = defineJobs(service, {
      target: { payload: z.object({ a: z.object(payload.shape) }) },
    });
    const theirs = defineJobs(service, {
      target: { payload: z.object({ a: z.object({ n: z.string() }) }) },
    });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(mine, { servers: server.url }).orThrow();
    await using producer = await connectService(theirs, { servers: server.url }).orThrow();
    const ran: number[] = [];
    worker.jobs.target.handle(({ job }) => void ran.push(job.payload.a.n));
    await worker.start().orThrow();
    const finished = await runOne(producer.jobs.target, { a: { n: "one" } });
    assert.ok(finished.state === "failed");
    assert.match(finished.error, /^Cannot run: the payload does not fit, a\.n: /);
    assert.equal(finished.job.tries, 0);
    const events = (await history(nc, finished.job.id)).map(({ eventType }) => eventType);
    assert.deepEqual(events, ["created", "failed"]);
    assert.equal((await runOne(worker.jobs.target, { a: { n: 2 } })).state, "completed");
    assert.deepEqual(ran, [2]);
    await worker.stop();
    await assertDrained(nc);
  },
);

testOnBothServers(
  "start() fails a result that does not fit, is too large, or has no JSON form",
  async (server) => {
    const big = z.union([z.string(), z.bigint()]);
    const result = z.object({ list: z.array(z.object({ id: z.string().min(2) })), big });
    const queues = defineJobs(service, { target: { payload, result } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(queues, { servers: server.url }).orThrow();
    const tries: number[] = [];
    worker.jobs.target.handle(({ job: { payload: { n }, tries: count } }) => {
      tries.push(count);
      const list = [{ id: "ok" }, { id: n === 1 ? "x" : "ok" }];
      return { list, big: n === 2 ? "x".repeat(1_100_000) : n === 3 ? 1n : "small" };
    });
    await worker.start().orThrow();
    const errors = [
      /^Cannot complete: the result does not fit, list\.1\.id: /,
      /^Cannot complete: the result cannot be stored, it makes a message of 1100\d{3} bytes, the server takes 1048576$/,
      /^Cannot complete: the result cannot be stored, .*BigInt/,
    ];
    for (const [index, error] of errors.entries()) {
      const finished = await runOne(worker.jobs.target, { n: index + 1 });
      assert.ok(finished.state === "failed", finished.state);
      assert.match(finished.error, error);
      const events = (await history(nc, finished.job.id)).map(({ eventType }) => eventType);
      assert.deepEqual(events, ["created", "started", "failed"]);
    }
    const fine = await runOne(worker.jobs.target, { n: 4 });
    assert.ok(fine.state === "completed" && fine.result.big === "small");
    assert.deepEqual(tries, [1, 1, 1, 1]);
    await worker.stop();
    await assertDrained(nc);
  },
);

testOnBothServers(
  "create() refuses a payload that does not fit, is too large, or has no JSON form",
  async (server) => {
    const text = z.object({ text: z.union([z.string(), z.bigint()]) });
    const queues = defineJobs(service, { target: { payload: text } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(queues, { servers: server.url }).orThrow();
    const { create } = worker.jobs.target;
    const before = await streamState(nc, "JOBS");
    const large = await create({ text: "x".repeat(1_048_576) });
    assert.ok(!large.ok && large.error.reason === "too-large");
    assert.match(
      large.error.message,
      /^Cannot create: the job makes a message of 1049\d{3} bytes, the server takes 1048576$/,
    );
    const unwritable = await create({ text: 1n });
    assert.ok(!unwritable.ok && unwritable.error.reason === "not-serializable");
    assert.match(unwritable.error.message, /^Cannot create: .*BigInt/);
    // @ts-expect-error -- as a program without types would call it
    const misfit = await create({ text: 1 });
    assert.ok(!misfit.ok && misfit.error.reason === "invalid-payload");
    assert.match(misfit.error.message, /^Cannot create: the payload does not fit, text: /);
    assert.deepEqual((await streamState(nc, "JOBS")).last_seq, before.last_seq);

    worker.jobs.target.handle(() => {});
    await worker.start().orThrow();
    const largest = await create({ text: "x".repeat(1_000_000) }).orThrow();
    assert.equal((await ended(largest)).state, "completed");
  },
);
