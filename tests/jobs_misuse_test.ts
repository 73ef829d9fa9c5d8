import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import {
  connectService,
  defineJobs,
  err,
  JobFailed,
  type JobProgress,
  Snooze,
  workSubject,
} from "../mod.ts";
import { ended, history, numbered, runOne, within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const service = "misuse";
const anything = z.any();
const throwing = z.string().transform((text) => new URL(text).href);

testOnBothServers("a schema that throws refuses, in create() and in the worker", async (server) => {
  const definition = defineJobs(service, { work: { payload: throwing } });
  const lenient = defineJobs(service, { work: { payload: z.string() } });
  await using strict = await connectService(definition, { servers: server.url }).orThrow();
  await using caller = await connectService(lenient, { servers: server.url }).orThrow();
  const created = await strict.jobs.work.create("no address");
  assert.equal(created.ok === false && created.error.reason, "invalid-payload");
  strict.jobs.work.handle(() => {});
  await strict.start().orThrow();
  const { state, job } = await runOne(caller.jobs.work, "no address");
  assert.deepEqual([state, job.tries], ["failed", 0]);
});

testOnBothServers("nothing is stored that nobody could read", async (server) => {
  const definition = defineJobs(service, { work: { payload: anything } });
  await using nc = await connect({ servers: server.url });
  await using worker = await connectService(definition, { servers: server.url }).orThrow();
  const { work } = worker.jobs;
  const refused: string[] = [];
  work.handle(async ({ job }) => {
    for (const progress of [{ current: NaN }, null as unknown as JobProgress]) {
      const reported = await job.progress(progress);
      refused.push(reported.ok ? "stored" : reported.error.reason);
    }
    throw new JobFailed("no");
  });
  await worker.start().orThrow();
  for (const payload of [() => 1, Symbol("s"), { toJSON: () => undefined }]) {
    const created = await work.create(payload);
    assert.equal(created.ok === false && created.error.reason, "not-serializable");
  }
  const far = { deadline: new Date(8.64e15) };
  await assert.rejects(Promise.resolve(work.create(1, far)), RangeError);
  const { state, job } = await runOne(work, 1);
  assert.equal(state, "failed");
  assert.deepEqual(refused, ["refused", "refused"]);
  const address = { service, jobType: "work", jobId: job.id };
  for (const options of [{ maxTries: 0 }, { maxTries: 1.5 }, { deadlineMs: NaN }]) {
    assert.throws(() => worker.commands.retry(address, options), RangeError);
  }
  const retried = await worker.commands.retry(address, { actor: 7 as unknown as string });
  assert.equal(retried.ok === false && retried.error.reason, "refused");
  const stored = (await history(nc, job.id)).map(({ eventType }) => eventType);
  assert.deepEqual(stored, ["created", "started", "failed"]);
});

testOnBothServers("wait() with a time that no timer holds sees the end", async (server) => {
  const definition = defineJobs(service, { work: { payload: numbered } });
  await using worker = await connectService(definition, { servers: server.url }).orThrow();
  worker.jobs.work.handle(() => {});
  const ref = await worker.jobs.work.create({ n: 1 }).orThrow();
  const unhandled = await ref.wait({ timeoutMs: 200 });
  assert.match(unhandled.ok ? "" : unhandled.error.message, /it is pending after 200 ms/);
  const waits = [Infinity, 2 ** 40].map((timeoutMs) => ref.wait({ timeoutMs }).orThrow());
  await worker.start().orThrow();
  for (const end of await within("end", Promise.all(waits))) assert.equal(end.state, "completed");
  await assert.rejects(Promise.resolve(ref.wait({ timeoutMs: NaN })), RangeError);
});

testOnBothServers("a stopped service does nothing more, and says so", async (server) => {
  const definition = defineJobs(service, { work: { payload: numbered } });
  await using nc = await connect({ servers: server.url });
  await using worker = await connectService(definition, { connection: nc }).orThrow();
  await using own = await connectService(definition, { servers: server.url }).orThrow();
  worker.jobs.work.handle(() => {});
  const ref = await own.jobs.work.create({ n: 1 }).orThrow();
  const pending = ref.wait();
  await Promise.all([worker.stop(), own.stop()]);
  const ended = await within("end of the wait", pending);
  assert.equal(ended.ok === false && ended.error.reason, "unavailable");
  const again = await ref.wait();
  assert.equal(again.ok === false && again.error.reason, "unavailable");
  const started = await worker.start();
  assert.equal(started.ok === false && started.error.reason, "stopped");
  await within("wait() of a stopped service", worker.wait());
  const created = await worker.jobs.work.create({ n: 2 });
  assert.equal(created.ok === false && created.error.reason, "stopped");
  const [many] = await worker.jobs.work.createMany([{ n: 3 }], { atomic: true });
  assert.equal(many?.ok === false && many.error.reason, "stopped");
});

testOnBothServers("a log hook and a backoff that throw hold nothing up", async (server) => {
  const backoffMs = (): number => {
    throw new Error("no wait");
  };
  const definition = defineJobs(service, {
    work: { payload: numbered },
    last: { payload: numbered, backoffMs, maxDeliver: 1 },
  });
  const log = () => {
    throw new Error("no log");
  };
  await using nc = await connect({ servers: server.url });
  await using worker = await connectService(definition, { servers: server.url, log }).orThrow();
  worker.jobs.work.handle(() => {});
  worker.jobs.last.handle(() => err("declined"));
  await worker.start().orThrow();
  nc.publish(workSubject({ service, jobType: "work" }), "junk");
  assert.equal((await runOne(worker.jobs.work, { n: 1 })).state, "completed");
  assert.equal((await runOne(worker.jobs.last, { n: 1 })).state, "dead");
});

testOnBothServers("a wait that no server can count is a long one", async (server) => {
  const definition = defineJobs(service, { work: { payload: numbered } });
  await using worker = await connectService(definition, { servers: server.url }).orThrow();
  let runs = 0;
  const snoozed = Promise.withResolvers<void>();
  worker.jobs.work.handle(({ job }) => {
    if (job.payload.n === 2) return;
    runs++;
    snoozed.resolve();
    throw new Snooze(1e13);
  });
  await worker.start().orThrow();
  await worker.jobs.work.create({ n: 1 }).orThrow();
  await snoozed.promise;
  for (let n = 0; n < 20; n++) await runOne(worker.jobs.work, { n: 2 });
  assert.equal(runs, 1);
});

testOnBothServers(
  "retry() twice at once runs a job that fails at once one more time",
  async (server) => {
    const definition = defineJobs(service, { work: { payload: numbered } });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    let runs = 0;
    worker.jobs.work.handle(() => {
      runs++;
      throw new JobFailed("no");
    });
    await worker.start().orThrow();
    for (let round = 0; round < 10; round++) {
      const { job } = await runOne(worker.jobs.work, { n: round });
      runs = 0;
      const address = { service, jobType: "work", jobId: job.id };
      const both = await Promise.all([
        worker.commands.retry(address),
        worker.commands.retry(address),
      ]);
      assert.equal(both.filter(({ ok }) => ok).length, 1, `round ${round}`);
      await ended(worker.jobs.work.ref(job.id));
      assert.equal(runs, 1, `round ${round}`);
    }
  },
);
