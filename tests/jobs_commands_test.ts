import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import {
  connectService,
  defineJobs,
  JobFailed,
  jobFilter,
  type JobView,
  WORK_STREAM,
} from "../mod.ts";
import {
  aborted,
  ended,
  ends,
  history,
  numbered,
  runOne,
  streamState,
  within,
} from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const payload = numbered;
const service = "commands";

testOnBothServers(
  "retry() and replay() put a job back to work with all its tries, and it runs",
  async (server) => {
    const jobs = defineJobs(service, { twice: { payload, maxDeliver: 2, backoffMs: [10] } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(jobs, { servers: server.url }).orThrow();
    let healed = false;
    worker.jobs.twice.handle(({ job }) => {
      if (healed) return;
      if (job.payload.n === 1) throw new JobFailed("no");
      throw new Error(`boom ${job.tries}`);
    });
    await worker.start().orThrow();
    const failed = await runOne(worker.jobs.twice, { n: 1 });
    const dead = await runOne(worker.jobs.twice, { n: 2 });
    assert.deepEqual([failed.state, dead.state, dead.job.tries], ["failed", "dead", 2]);
    healed = true;

    const at = (jobId: string) => ({ service, jobType: "twice", jobId });
    const wrong = await worker.commands.replay(at(failed.job.id));
    assert.ok(!wrong.ok && wrong.error.reason === "wrong-state");
    assert.match(wrong.error.message, /^Cannot replay job \w+: it is failed, not dead$/);
    assert.equal(wrong.error.job?.state, "failed");

    const retried = await worker.commands.retry(at(failed.job.id), { actor: "ann" }).orThrow();
    assert.deepEqual([retried.state, retried.tries, retried.actor], ["pending", 0, "ann"]);
    assert.equal(retried.lastError, undefined);
    await worker.commands.replay(at(dead.job.id), { maxTries: 7 }).orThrow();
    for (const [id, maxTries] of [[failed.job.id, 2], [dead.job.id, 7]] as const) {
      const { state, job } = await ended(worker.jobs.twice.ref(id));
      assert.deepEqual([state, job.tries, job.maxTries], ["completed", 1, maxTries]);
      const events = await history(nc, id);
      const last = events.slice(-3).map((event) => event.eventType);
      assert.deepEqual(last, ["retried", "started", "completed"]);
      const start = events.at(-2);
      assert.ok(start?.eventType === "started" && start.previousState === "pending");
    }
    const missing = await worker.commands.retry(at("01JZ6N5V4T8Y3K2QX9W7R5M1AB"));
    assert.equal(!missing.ok && missing.error.reason, "not-found");
  },
);

testOnBothServers("retry() and replay() give a passed deadline its time again", async (server) => {
  const jobs = defineJobs(service, { brief: { payload, maxDeliver: 1 } });
  await using worker = await connectService(jobs, { servers: server.url }).orThrow();
  let healed = false;
  worker.jobs.brief.handle(({ job }) => {
    if (healed) return;
    throw job.payload.n === 1 ? new JobFailed("no") : new Error("boom");
  });
  await worker.start().orThrow();
  const deadlineMs = 600;
  const failed = await runOne(worker.jobs.brief, { n: 1 }, { deadlineMs });
  const dead = await runOne(worker.jobs.brief, { n: 2 }, { deadlineMs });
  const passed = Date.parse(dead.job.deadline ?? "");
  while (Date.now() <= passed) await new Promise((done) => setTimeout(done, 20));
  healed = true;
  const at = (jobId: string) => ({ service, jobType: "brief", jobId });
  await worker.commands.retry(at(failed.job.id)).orThrow();
  await worker.commands.replay(at(dead.job.id), { deadlineMs: 60_000 }).orThrow();
  for (const { id } of [failed.job, dead.job]) {
    const { state, job } = await ended(worker.jobs.brief.ref(id));
    assert.equal(state, "completed");
    assert.ok(Date.parse(job.deadline ?? "") > passed);
  }
});

testOnBothServers(
  "retry() by several operators at once enqueues the job once, 20 times over",
  async (server) => {
    const jobs = defineJobs(service, { contested: { payload } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(jobs, { servers: server.url }).orThrow();
    await using other = await connectService(jobs, { servers: server.url }).orThrow();
    let runs = 0;
    let broken = true;
    worker.jobs.contested.handle(() => {
      runs++;
      if (broken) throw new JobFailed("no");
    });
    await worker.start().orThrow();
    for (let round = 0; round < 20; round++) {
      broken = true;
      const { job } = await runOne(worker.jobs.contested, { n: round });
      broken = false;
      const [before, takenBefore] = [runs, (await streamState(nc, WORK_STREAM)).last_seq];
      const address = { service, jobType: "contested", jobId: job.id };
      const operators = 2 + round % 4;
      const outcomes = await Promise.all(
        Array.from({ length: operators }, (_, index) => {
          return (index % 2 === 0 ? worker : other).commands.retry(address, { actor: `${index}` });
        }),
      );
      const refusals = outcomes.flatMap((outcome) => outcome.ok ? [] : [outcome.error.reason]);
      assert.deepEqual(refusals, Array(operators - 1).fill("wrong-state"), `round ${round}`);
      assert.equal((await ended(worker.jobs.contested.ref(job.id))).state, "completed");
      const events = await history(nc, job.id);
      assert.equal(events.filter(({ eventType }) => eventType === "retried").length, 1);
      // A second copy would have come with the first: the next round's job is behind both.
      assert.equal((await streamState(nc, WORK_STREAM)).last_seq, takenBefore + 1);
      assert.equal(runs, before + 1, `round ${round}`);
    }
    assert.equal(runs, 40);
  },
);

testOnBothServers(
  "dismiss() closes a dead job, and only a dead one",
  async (server) => {
    const jobs = defineJobs(service, { doomed: { payload, maxDeliver: 1 } });
    await using worker = await connectService(jobs, { servers: server.url }).orThrow();
    worker.jobs.doomed.handle(({ job }) => {
      if (job.payload.n === 1) throw new Error("boom");
    });
    await worker.start().orThrow();
    const at = (jobId: string) => ({ service, jobType: "doomed", jobId });
    const dead = await runOne(worker.jobs.doomed, { n: 1 });
    const dismissed = await worker.commands.dismiss(at(dead.job.id), { actor: "ann" }).orThrow();
    assert.deepEqual([dismissed.state, dismissed.actor], ["dismissed", "ann"]);
    const again = await worker.commands.replay(at(dead.job.id));
    assert.equal(!again.ok && again.error.reason, "wrong-state");
    const done = await runOne(worker.jobs.doomed, { n: 2 });
    const refused = await worker.commands.dismiss(at(done.job.id));
    assert.equal(!refused.ok && refused.error.reason, "wrong-state");
  },
);

testOnBothServers(
  "expire() ends a running job, and a passed deadline one that has not begun",
  async (server) => {
    const jobs = defineJobs(service, { perishable: { payload } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(jobs, { servers: server.url }).orThrow();
    const started = Promise.withResolvers<AbortSignal>();
    const ran: number[] = [];
    worker.jobs.perishable.handle(async ({ job, signal }) => {
      ran.push(job.payload.n);
      if (job.payload.n !== 1) return;
      started.resolve(signal);
      await within("abort", aborted(signal));
    });
    const late = await worker.jobs.perishable.create({ n: 0 }, { deadlineMs: 0 }).orThrow();
    await worker.start().orThrow();
    const expired = await ended(late);
    assert.equal(expired.state, "expired");
    assert.match(expired.error, /^the deadline .* has passed$/);

    const ref = await worker.jobs.perishable.create({ n: 1 }).orThrow();
    const signal = await within("start", started.promise);
    await worker.commands.expire({ service, jobType: "perishable", jobId: ref.id }).orThrow();
    const reason = await within("abort", aborted(signal));
    assert.deepEqual(reason instanceof Error && "reason" in reason && reason.reason, "expired");
    assert.equal((await ended(ref)).state, "expired");
    assert.equal((await runOne(worker.jobs.perishable, { n: 2 })).state, "completed");
    assert.deepEqual(ran, [1, 2]);
    for (const id of [late.id, ref.id]) assert.equal(ends(await history(nc, id)).length, 1);
  },
);

testOnBothServers(
  "cancel() and start() work on a job whose history holds events that nobody can read",
  async (server) => {
    const jobs = defineJobs(service, { littered: { payload } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(jobs, { servers: server.url }).orThrow();
    const refs = await Promise.all(
      [1, 2].map((n) => worker.jobs.littered.create({ n }).orThrow()),
    );
    for (const { id } of refs) {
      const filter = jobFilter({ service, jobType: "littered", jobId: id });
      for (const event of ["fromTheFuture", "progress"]) {
        await nc.request(filter.replace("*", event), "not an event");
      }
    }
    const [first, second] = refs;
    assert.ok(first && second);
    const cancelled: JobView<{ n: number }, undefined> = await first.cancel().orThrow();
    assert.equal(cancelled.state, "cancelled");
    worker.jobs.littered.handle(() => {});
    await worker.start().orThrow();
    assert.equal((await ended(second)).state, "completed");
  },
);
