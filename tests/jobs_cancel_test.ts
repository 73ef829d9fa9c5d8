import assert from "node:assert/strict";
import { connect, headers } from "@nats-io/transport-node";
import {
  type Commands,
  connectNats,
  connectService,
  defineJobs,
  fold,
  foldLatest,
  JobAborted,
  lifecycleSubject,
  queueEventFilter,
  WORK_STREAM,
} from "../mod.ts";
import {
  aborted,
  ended,
  ends,
  history,
  numbered,
  runOne,
  storedEvents,
  streamState,
  within,
} from "./job_service.ts";
import { startNatsServer } from "../testing/mod.ts";
import { testOnBothServers } from "./servers.ts";

const payload = numbered;
const service = "cancels";

testOnBothServers(
  "cancel() keeps a waiting job from ever running, and gives a finished one as it ended",
  async (server) => {
    const queues = defineJobs(service, { waiting: { payload } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(queues, { servers: server.url }).orThrow();
    const ran: number[] = [];
    worker.jobs.waiting.handle(({ job }) => void ran.push(job.payload.n));
    const early = await worker.jobs.waiting.create({ n: 1 }).orThrow();
    const cancelled = await early.cancel({ actor: "ann", reason: "changed my mind" }).orThrow();
    assert.deepEqual([cancelled.state, cancelled.actor], ["cancelled", "ann"]);
    await worker.start().orThrow();
    const { state, job } = await runOne(worker.jobs.waiting, { n: 2 });
    assert.equal(state, "completed");
    assert.deepEqual(ran, [2]);
    const events = (await history(nc, early.id)).map(({ eventType }) => eventType);
    assert.deepEqual(events, ["created", "cancelled"]);
    const finished = await ended(early);
    assert.ok(finished.state === "cancelled" && finished.error === "changed my mind");

    const again = await worker.jobs.waiting.ref(job.id).cancel().orThrow();
    assert.equal(again.state, "completed");
    assert.equal((await early.cancel({ actor: "bob" }).orThrow()).actor, "ann");
    assert.equal(ends(await history(nc, job.id)).length, 1);
    assert.equal(ends(await history(nc, early.id)).length, 1);
  },
);

testOnBothServers(
  "cancel() between two tries ends the job for its own reason, and the work that comes back",
  async (server) => {
    const queues = defineJobs(service, { between: { payload, backoffMs: [300] } });
    await using nc = await connect({ servers: server.url });
    const over = Promise.withResolvers<void>();
    await using worker = await connectService(queues, {
      servers: server.url,
      log: (_level, what) => void (what === "over" && over.resolve()),
    }).orThrow();
    let runs = 0;
    worker.jobs.between.handle(() => {
      runs++;
      throw new Error("boom");
    });
    await worker.start().orThrow();
    const retry = Promise.withResolvers<void>();
    nc.subscribe(queueEventFilter({ service, jobType: "between" }, "retry"), {
      callback: () => retry.resolve(),
    });
    await nc.flush();
    const ref = await worker.jobs.between.create({ n: 1 }).orThrow();
    await within("failed try", retry.promise);
    await ref.cancel({ reason: "enough" }).orThrow();
    const finished = await ended(ref);
    assert.ok(finished.state === "cancelled");
    assert.deepEqual([finished.error, finished.job.lastError], ["enough", "boom"]);
    await within("second delivery", over.promise);
    await worker.stop();
    assert.equal(runs, 1);
    assert.equal((await streamState(nc, WORK_STREAM)).messages, 0);
  },
);

testOnBothServers(
  "cancel() aborts a running handler, stores one end and frees the slot",
  async (server) => {
    const queues = defineJobs(service, { running: { payload, concurrency: 1 } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(queues, { servers: server.url }).orThrow();
    const started = Promise.withResolvers<AbortSignal>();
    const reported = Promise.withResolvers<string>();
    worker.jobs.running.handle(async ({ job, signal }) => {
      if (job.payload.n !== 1) return;
      await job.progress({ step: "begun" }).orThrow();
      started.resolve(signal);
      await within("abort", aborted(signal));
      // A progress of a job that is over, and an end that comes too late: neither counts.
      const late = await job.progress({ step: "late" });
      reported.resolve(late.ok ? "stored" : late.error.reason);
      throw new Error("this end is not the one that counts");
    });
    await worker.start().orThrow();
    const ref = await worker.jobs.running.create({ n: 1 }).orThrow();
    const signal = await within("start", started.promise);
    const cancelled = await ref.cancel({ actor: "ann", reason: "enough" }).orThrow();
    assert.equal(cancelled.state, "cancelled");
    const reason = await within("abort", aborted(signal));
    assert.ok(reason instanceof JobAborted);
    assert.equal(reason.reason, "cancelled");
    assert.equal(reason.message, "the job is cancelled by ann: enough");
    assert.equal(await within("late report", reported.promise), "not-active");
    assert.equal((await runOne(worker.jobs.running, { n: 2 })).state, "completed");
    const events = await history(nc, ref.id);
    assert.deepEqual(ends(events).map(({ eventType }) => eventType), ["cancelled"]);
    assert.equal(fold(events)?.state, "cancelled");
    const { state, progress } = await ref.get().orThrow();
    assert.deepEqual([state, progress], ["cancelled", { step: "begun" }]);
  },
);

testOnBothServers(
  "cancel() aborts every running handler, whenever it comes",
  async (server) => {
    const queues = defineJobs(service, { many: { payload, concurrency: 100 } });
    const options = { servers: server.url, drainMs: 0 };
    await using worker = await connectService(queues, options).orThrow();
    await using other = await connectService(queues, options).orThrow();
    const handled = new Map<string, PromiseWithResolvers<AbortSignal>>();
    const startOf = (id: string) => {
      const start = handled.get(id) ?? Promise.withResolvers<AbortSignal>();
      handled.set(id, start);
      return start;
    };
    worker.jobs.many.handle(async ({ job, signal }) => {
      startOf(job.id).resolve(signal);
      await aborted(signal);
    });
    await worker.start().orThrow();
    const cancelSoon = async (n: number) => {
      const ref = await other.jobs.many.create({ n }).orThrow();
      // Some when they run; the others at once: before, at or after their start.
      if (n % 4 !== 0) await within("start", startOf(ref.id).promise);
      assert.equal((await ref.cancel().orThrow()).state, "cancelled");
      return ref.id;
    };
    for (let round = 0; round < 315; round++) {
      // One alone is the fastest: its cancel is heard before it is stored, now and then.
      const atOnce = round < 15 ? 40 : 2;
      const ids = await Promise.all(Array.from({ length: atOnce }, (_, n) => cancelSoon(n)));
      for (const [n, id] of ids.entries()) {
        if (n % 4 !== 0) await within("abort", startOf(id).promise.then(aborted));
      }
    }
    // Also those that were cancelled at their start have let go: a hundred more can begin.
    const behind = await worker.jobs.many.createMany(Array(100).fill({ n: 0 }));
    const ids = behind.map((result) => result.ok ? result.value.id : assert.fail());
    await within("free slots", Promise.all(ids.map((id) => startOf(id).promise)));
  },
);

testOnBothServers(
  "start() does not abort a handler for a cancel that the stream refused",
  async (server) => {
    const queues = defineJobs(service, { brave: { payload } });
    await using nc = await connect({ servers: server.url });
    await using connection = await connectNats({ servers: server.url });
    await using worker = await connectService(queues, { connection }).orThrow();
    const started = Promise.withResolvers<AbortSignal>();
    const finish = Promise.withResolvers<void>();
    worker.jobs.brave.handle(async ({ signal }) => {
      started.resolve(signal);
      await within("leave to finish", finish.promise);
    });
    await worker.start().orThrow();
    const ref = await worker.jobs.brave.create({ n: 1 }).orThrow();
    const signal = await within("start", started.promise);
    const job = { service, jobType: "brave", jobId: ref.id };
    const expectation = headers();
    expectation.set("Nats-Expected-Last-Subject-Sequence", "999999");
    const answer = await nc.request(lifecycleSubject(job, "cancelled"), "{}", {
      headers: expectation,
      timeout: 5_000,
    });
    assert.equal(answer.json<{ error: { err_code: number } }>().error.err_code, 10071);
    // The worker has heard it when its connection answers, and read when a later read is answered.
    await connection.flush();
    await ref.get().orThrow();
    await ref.get().orThrow();
    assert.equal(signal.aborted, false);
    finish.resolve();
    assert.equal((await ended(ref)).state, "completed");
    assert.equal(ends(await history(nc, ref.id)).length, 1);
  },
);

/** Lets handlers end at about the time of their cancel, and asserts one end that all agree on. */
async function raceCancels(
  [one = "", two = one, three = two]: readonly string[],
  races: number,
  comparesAndSets: boolean,
): Promise<void> {
  const queues = defineJobs(service, { raced: { payload, concurrency: 50 } });
  await using nc = await connect({ servers: three });
  await using worker = await connectService(queues, { servers: one }).orThrow();
  await using other = await connectService(queues, { servers: two }).orThrow();
  const cancels: ReturnType<Commands["cancel"]>[] = [];
  worker.jobs.raced.handle(async ({ job }) => {
    cancels.push(other.commands.cancel({ service, jobType: "raced", jobId: job.id }));
    // A few round trips, as many as a cancel takes: fast or slow, both arrive together.
    for (let trips = job.payload.n % 6; trips > 0; trips--) await nc.flush();
  });
  await worker.start().orThrow();
  const created = await other.jobs.raced.createMany(
    Array.from({ length: races }, (_, n) => ({ n })),
  );
  const refs = created.map((result) => result.ok ? result.value : assert.fail());
  const finished = await Promise.all(refs.map((ref) => ended(ref)));
  const outcomes = await within("cancels", Promise.all(cancels));
  const cancelSaid = new Map(outcomes.map((outcome) => {
    const job = outcome.ok ? outcome.value : outcome.error.job;
    return [job?.id, job?.state];
  }));
  await worker.stop();

  const byJob = Map.groupBy(await storedEvents(nc), ({ event }) => event.jobId);
  const wins = { completed: 0, cancelled: 0 };
  for (const { state, job } of finished) {
    const stored = byJob.get(job.id) ?? [];
    const events = stored.map(({ event }) => event);
    const terminals = ends(events).map(({ eventType }) => eventType);
    assert.ok(state === "completed" || state === "cancelled", state);
    wins[state]++;
    assert.deepEqual(comparesAndSets ? terminals : terminals.slice(0, 1), [state]);
    assert.equal(fold(events)?.state, state);
    assert.equal(foldLatest(stored)?.job.state, state);
    assert.equal(cancelSaid.get(job.id), state);
  }
  assert.ok(wins.completed >= 20 && wins.cancelled >= 20, JSON.stringify(wins));
}

testOnBothServers(
  "cancel() against completion: 1,000 races, each with one end that all agree on",
  (server) => raceCancels([server.url], 1_000, !server.version.startsWith("2.10.")),
);

Deno.test("cancel() against completion: one end also where replicas answer that lag", async () => {
  await using cluster = await startNatsServer({ cluster: true });
  await raceCancels(cluster.urls, 1_000, true);
});
