import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import {
  connectService,
  defineJobs,
  durableName,
  err,
  JobFailed,
  type JobProgress,
  JOBS_STREAM,
  Snooze,
  WORK_STREAM,
  workSubject,
} from "../mod.ts";
import { readHistory } from "./history.ts";
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

testOnBothServers(
  "dismiss() against replay() has one winner, and all readers name the same",
  async (server) => {
    const definition = defineJobs(service, { work: { payload: numbered, maxDeliver: 1 } });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    const { work } = worker.jobs;
    let fails = true;
    work.handle(() => fails ? err("no") : undefined);
    await worker.start().orThrow();
    const jobs = await Promise.all(Array.from({ length: 40 }, (_, n) => runOne(work, { n })));
    fails = false;
    const outcomes = await Promise.all(jobs.map(async ({ job }) => {
      const address = { service, jobType: "work", jobId: job.id };
      const { commands } = worker;
      const [replayed, dismissed] = await Promise.all([
        commands.replay(address),
        commands.dismiss(address),
      ]);
      assert.equal(Number(replayed.ok) + Number(dismissed.ok), 1);
      const { state } = await ended(work.ref(job.id));
      assert.equal(state, replayed.ok ? "completed" : "dismissed");
      return { id: job.id, state };
    }));
    const stored = await readHistory(server.url);
    for (const { id, state } of outcomes) assert.equal(stored.get(id)?.job?.state, state);
  },
);

testOnBothServers("a worker that became slow gives back what it fetched ahead", async (server) => {
  const definition = defineJobs(service, { work: { payload: numbered } });
  await using slow = await connectService(definition, { servers: server.url }).orThrow();
  await using idle = await connectService(definition, { servers: server.url }).orThrow();
  const finish = Promise.withResolvers<void>();
  slow.jobs.work.handle(({ job }) => job.payload.n === 0 ? undefined : finish.promise);
  idle.jobs.work.handle(() => {});
  await slow.start().orThrow();
  // Quick jobs teach it to fetch ahead.
  for (const created of await slow.jobs.work.createMany(Array(300).fill({ n: 0 }))) {
    assert.ok(created.ok);
    await ended(created.value);
  }
  const created = await slow.jobs.work.createMany(Array(20).fill({ n: 1 }));
  await idle.start().orThrow();
  const ends = created.map((result) => result.ok ? ended(result.value) : assert.fail());
  let done = 0;
  const all = Promise.all(ends.map((end) => end.then(() => done++ >= 18 && finish.resolve())));
  await within("end of all but the one that runs", all);
});

testOnBothServers("a worker whose consumer is deleted makes it anew", async (server) => {
  const definition = defineJobs(service, { work: { payload: numbered } });
  await using nc = await connect({ servers: server.url });
  await using worker = await connectService(definition, { servers: server.url }).orThrow();
  worker.jobs.work.handle(() => {});
  await worker.start().orThrow();
  assert.equal((await runOne(worker.jobs.work, { n: 1 })).state, "completed");
  const { consumers } = await jetstreamManager(nc);
  await consumers.delete(WORK_STREAM, durableName({ service, jobType: "work" }));
  assert.equal((await runOne(worker.jobs.work, { n: 2 })).state, "completed");
});

testOnBothServers(
  "what a handler came to is stored when a full stream has room again",
  async (server) => {
    const definition = defineJobs(service, { work: { payload: numbered } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    const finish = Promise.withResolvers<void>();
    const running = Promise.withResolvers<void>();
    worker.jobs.work.handle(() => {
      running.resolve();
      return finish.promise;
    });
    await worker.start().orThrow();
    const ref = await worker.jobs.work.create({ n: 1 }).orThrow();
    await running.promise;
    const { streams } = await jetstreamManager(nc);
    const { state } = await streams.info(JOBS_STREAM);
    await streams.update(JOBS_STREAM, { max_msgs: state.messages });
    const refused = await worker.jobs.work.create({ n: 2 });
    assert.equal(refused.ok === false && refused.error.reason, "stream-full");
    finish.resolve();
    const early = await ref.wait({ timeoutMs: 300 });
    assert.equal(early.ok === false && early.error.reason, "timeout");
    await streams.update(JOBS_STREAM, { max_msgs: -1 });
    const { job } = await ended(ref);
    assert.deepEqual([job.state, job.tries], ["completed", 1]);
  },
);
