import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import {
  connectService,
  defineJobs,
  err,
  JobAborted,
  type JobEvent,
  JobFailed,
  RetryAfter,
  Snooze,
} from "../mod.ts";
import { aborted, history, numbered, runOne, within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const payload = numbered;

/** An event's type with what it says of the past and of the count. */
function told(event: JobEvent): string {
  const previous = "previousState" in event ? event.previousState : "nothing";
  return `${previous} → ${event.eventType} ${event.tries}`;
}

function millis(event: JobEvent | undefined): number {
  return Date.parse(event?.timestamp ?? "");
}

testOnBothServers(
  "start() tries a failed job again, and every event says where it came from",
  async (server) => {
    const queues = defineJobs("retries", { flaky: { payload, backoffMs: [150] } });
    await using nc = await connect({ servers: server.url });
    await using service = await connectService(queues, { servers: server.url }).orThrow();
    const seen: [number, number, boolean][] = [];
    service.jobs.flaky.handle(({ job }) => {
      seen.push([job.tries, job.deliveries, job.redelivered]);
      if (job.tries < 3) throw new Error(`boom ${job.tries}`);
    });
    await service.start().orThrow();

    const { state, job } = await runOne(service.jobs.flaky, { n: 1 });
    assert.equal(state, "completed");
    assert.equal(job.tries, 3);
    assert.equal(job.lastError, "boom 2");
    assert.deepEqual(seen, [[1, 1, false], [2, 2, true], [3, 3, true]]);
    const events = await history(nc, job.id);
    assert.deepEqual(events.map(told), [
      "nothing → created 0",
      "pending → started 1",
      "active → retry 1",
      "retry → started 2",
      "active → retry 2",
      "retry → started 3",
      "active → completed 3",
    ]);
    const times = events.map(millis);
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert.equal(job.createdAt, events[0]?.timestamp);
    assert.equal(job.startedAt, events[5]?.timestamp);
    assert.equal(job.completedAt, events[6]?.timestamp);
    // 150 ms less a jitter of a tenth: the tries are not burnt at once.
    assert.ok(millis(events[3]) - millis(events[2]) >= 130);
    assert.ok(millis(events[5]) - millis(events[4]) >= 130);
  },
);

testOnBothServers(
  "start() ends a job that fails every try as dead, or as failed without a dead-letter queue",
  async (server) => {
    const queues = defineJobs("retries", {
      buried: { payload, maxDeliver: 3, backoffMs: [10] },
      unburied: { payload, maxDeliver: 3, backoffMs: [10], dlq: false },
    });
    await using nc = await connect({ servers: server.url });
    await using service = await connectService(queues, { servers: server.url }).orThrow();
    service.jobs.buried.handle(({ job }) => {
      throw new Error(`boom ${job.tries} of ${job.maxTries}`);
    });
    service.jobs.unburied.handle(({ job }) => err(`no ${job.tries}`));
    await service.start().orThrow();

    const dead = await runOne(service.jobs.buried, { n: 1 });
    assert.equal(dead.state, "dead");
    assert.equal(dead.error, "boom 3 of 3");
    assert.equal(dead.job.tries, 3);
    const events = await history(nc, dead.job.id);
    assert.deepEqual(events.slice(-2).map(told), ["retry → started 3", "active → dead 3"]);

    const failed = await runOne(service.jobs.unburied, { n: 1 });
    assert.equal(failed.state, "failed");
    assert.equal(failed.error, "no 3");
    assert.equal(failed.job.tries, 3);
    const single = await runOne(service.jobs.buried, { n: 1 }, { maxTries: 1 });
    assert.deepEqual([single.state, single.job.tries], ["dead", 1]);
  },
);

testOnBothServers(
  "start() takes JobFailed, RetryAfter and Snooze at their word",
  async (server) => {
    const queues = defineJobs("retries", {
      hopeless: { payload, backoffMs: [10] },
      later: { payload, maxDeliver: 2, backoffMs: [60_000] },
      notYet: { payload, maxDeliver: 1, backoffMs: [60_000] },
    });
    await using nc = await connect({ servers: server.url });
    await using service = await connectService(queues, { servers: server.url }).orThrow();
    service.jobs.hopeless.handle(() => {
      throw new JobFailed("the card is stolen");
    });
    service.jobs.later.handle(({ job }) => {
      if (job.tries === 1) throw new RetryAfter(300, "the bank is closed");
    });
    let snoozes = 0;
    service.jobs.notYet.handle(({ job }) => {
      assert.equal(job.tries, 1);
      if (++snoozes < 4) throw new Snooze(100, "not yet");
    });
    await service.start().orThrow();

    const [failed, retried, snoozed] = await Promise.all([
      runOne(service.jobs.hopeless, { n: 1 }),
      runOne(service.jobs.later, { n: 1 }),
      runOne(service.jobs.notYet, { n: 1 }),
    ]);
    assert.equal(failed.state, "failed");
    assert.equal(failed.error, "the card is stolen");
    assert.equal(failed.job.tries, 1);

    assert.deepEqual([retried.state, retried.job.tries], ["completed", 2]);
    const [, , again, second] = await history(nc, retried.job.id);
    const waitedMs = millis(second) - millis(again);
    assert.ok(waitedMs >= 290 && waitedMs < 3_000, `${waitedMs} ms`);

    assert.deepEqual([snoozed.state, snoozed.job.tries, snoozes], ["completed", 1, 4]);
    const naps = (await history(nc, snoozed.job.id)).filter((event) => event.eventType === "retry");
    assert.deepEqual(
      naps.map(({ tries, reason, error }) => [tries, reason, error]),
      Array(3).fill([0, "snooze", "not yet"]),
    );
  },
);

testOnBothServers(
  "start() aborts a try that takes longer than timeoutMs, and counts it",
  async (server) => {
    const queues = defineJobs("retries", {
      slow: { payload, timeoutMs: 100, maxDeliver: 2, backoffMs: [10] },
      done: { payload, timeoutMs: 100, maxDeliver: 2, backoffMs: [10] },
      deaf: { payload, timeoutMs: 100, maxDeliver: 2, backoffMs: [10] },
    });
    await using nc = await connect({ servers: server.url });
    await using service = await connectService(queues, { servers: server.url }).orThrow();
    const reasons: unknown[] = [];
    service.jobs.slow.handle(async ({ signal }) => {
      reasons.push(await within("abort", aborted(signal)));
      throw signal.reason;
    });
    service.jobs.done.handle(async ({ signal }) => void await aborted(signal));
    const never = Promise.withResolvers<void>();
    service.jobs.deaf.handle(({ job }) => job.tries === 1 ? never.promise : undefined);
    await service.start().orThrow();
    const [{ state, job }, done, deaf] = await Promise.all([
      runOne(service.jobs.slow, { n: 1 }),
      runOne(service.jobs.done, { n: 1 }),
      runOne(service.jobs.deaf, { n: 1 }),
    ]);
    // One that finishes all the same has finished; one that does not listen is left behind.
    assert.deepEqual([done.state, done.job.tries], ["completed", 1]);
    assert.deepEqual([deaf.state, deaf.job.tries], ["completed", 2]);
    assert.deepEqual([state, job.tries], ["dead", 2]);
    assert.equal(job.lastError, "the try took longer than 100 ms");
    assert.equal(reasons.length, 2);
    for (const reason of reasons) {
      assert.ok(reason instanceof JobAborted);
      assert.equal(reason.reason, "timeout");
    }
    const retry = (await history(nc, job.id)).find((event) => event.eventType === "retry");
    assert.equal(retry?.reason, "timeout");
  },
);

testOnBothServers(
  "start() goes on after a handler that throws something else than an error",
  async (server) => {
    const queues = defineJobs("retries", { odd: { payload, maxDeliver: 1 } });
    await using service = await connectService(queues, { servers: server.url }).orThrow();
    const bare: unknown = Object.create(null);
    const hostile = {
      get message(): string {
        throw new Error("no message for you");
      },
    };
    const things = ["a text", undefined, null, 7, Symbol("s"), { message: "an object" }, bare];
    const thrown: unknown[] = [...things, hostile, new JobAborted("cancelled", "of another job")];
    service.jobs.odd.handle(({ job }) => {
      throw thrown[job.payload.n];
    });
    await service.start().orThrow();
    const errors: string[] = [];
    for (const n of thrown.keys()) {
      const finished = await runOne(service.jobs.odd, { n });
      assert.equal(finished.state, "dead", `${n}`);
      errors.push(finished.job.lastError ?? "");
    }
    assert.deepEqual(errors.slice(0, 6), [
      "a text",
      "undefined",
      "null",
      "7",
      "Symbol(s)",
      "an object",
    ]);
    assert.equal(errors.at(-1), "of another job");
    assert.ok(errors.every((error) => error !== ""));
  },
);
