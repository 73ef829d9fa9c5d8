import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import {
  context,
  type ContextManager,
  createTraceState,
  ROOT_CONTEXT,
  trace,
} from "@opentelemetry/api";
import { connect } from "@nats-io/transport-node";
import {
  type ActiveJob,
  connectService,
  decodeHeartbeat,
  defineJobs,
  type JobContext,
  type Middleware,
  PRESENCE_FILTER,
  TERMINAL_STATES,
  valueOrThrow,
  type WorkerHeartbeat,
} from "../mod.ts";
import { history, numbered, runOne, storedEvents, within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const payload = numbered;
const service = "handlers";

testOnBothServers("handle() and start() refuse what is a bug or a clash", async (server) => {
  const definition = defineJobs("a-b", { c: { payload }, d: { payload }, e: { payload } });
  const options = { servers: server.url };
  await using first = await connectService(definition, options).orThrow();
  first.jobs.c.handle(() => {});
  assert.throws(() => first.jobs.c.handle(() => {}), {
    name: "TypeError",
    message: "Cannot handle c: it has a handler already",
  });
  await first.start().orThrow();
  assert.throws(() => first.jobs.d.handle(() => {}), {
    name: "TypeError",
    message: "Cannot handle d: the service has started already",
  });
  assert.throws(() => first.jobs.c.ref("no ulid"), /^TypeError: Cannot refer to a job: "no ulid"/);
  assert.throws(() => defineJobs("a.b", {}), /^TypeError: Cannot use this name: .*"a\.b"/);
  assert.throws(() => defineJobs("a", { c: { payload, concurrency: 0 } }), /^RangeError: Cannot/);
  assert.throws(
    // @ts-expect-error -- as a program without types would write it
    () => defineJobs("a", { c: { payload: { n: 1 } } }),
    /^TypeError: Cannot define the queue c: its payload is not a Standard Schema$/,
  );
  assert.throws(
    () => connectService(definition, { ...options, instanceId: "not.a.token" }),
    /^TypeError: Cannot use this name: the instance id "not\.a\.token"/,
  );

  await using nc = await connect({ servers: server.url });
  let heartbeats = 0;
  nc.subscribe("trellis.jobs.workers.a.>", { callback: () => void heartbeats++ });
  const other = defineJobs("a", { fine: { payload }, "b-c": { payload } });
  await using second = await connectService(other, options).orThrow();
  second.jobs.fine.handle(() => assert.fail("it must not run"));
  second.jobs["b-c"].handle(() => {});
  const waiting = await second.jobs.fine.create({ n: 1 }).orThrow();
  const clash = await second.start();
  assert.ok(!clash.ok && clash.error.reason === "consumer-clash");
  assert.match(
    clash.error.message,
    /^Cannot start: the consumer a-b-c works for trellis\.work\.a-b\.c, .*; rename the service/,
  );
  await nc.flush();
  assert.equal(heartbeats, 0);
  assert.equal((await waiting.get().orThrow()).state, "pending");
});

testOnBothServers(
  "start() says what to run when there is no work stream and it may make none",
  async (server) => {
    const definition = defineJobs(service, { one: { payload } });
    const options = { servers: server.url, provision: false };
    await using bare = await connectService(definition, options).orThrow();
    bare.jobs.one.handle(() => {});
    const refused = await within("answer", bare.start());
    assert.ok(!refused.ok && refused.error.reason === "stream-missing");
    assert.equal(
      refused.error.message,
      "Cannot start: stream JOBS_WORK is missing, run provision",
    );
    await assert.rejects(bare.wait(), /run provision/);
  },
);

testOnBothServers(
  "job.progress() and job.log() are stored, refused when switched off, and refused after the end",
  async (server) => {
    const definition = defineJobs(service, {
      loud: { payload },
      mute: { payload, progress: false, logs: false },
    });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    let kept: ActiveJob<{ n: number }> | undefined;
    worker.jobs.loud.handle(async ({ job }) => {
      kept = job;
      await job.progress({ step: "one", current: 1, total: 2 }).orThrow();
      await job.log("warn", "half way").orThrow();
      // Not awaited: the end must come after it all the same.
      job.progress({ step: "two", current: 2, total: 2 });
    });
    const refusals: string[] = [];
    worker.jobs.mute.handle(async ({ job }) => {
      for (const report of [await job.progress({ step: "one" }), await job.log("info", "x")]) {
        refusals.push(report.ok ? "ok" : `${report.error.reason} | ${report.error.message}`);
      }
    });
    await worker.start().orThrow();
    const { state, job } = await runOne(worker.jobs.loud, { n: 1 });
    assert.equal(state, "completed");
    const events = await history(nc, job.id);
    assert.deepEqual(events.map(({ eventType }) => eventType), [
      "created",
      "started",
      "progress",
      "logged",
      "progress",
      "completed",
    ]);
    assert.deepEqual(job.progress, { step: "two", current: 2, total: 2 });
    assert.deepEqual(job.logs?.map(({ level, message }) => [level, message]), [
      ["warn", "half way"],
    ]);
    const late = await kept?.progress({ step: "late" });
    assert.ok(late?.ok === false && late.error.reason === "not-active");
    assert.equal(late.error.message, "Cannot publish progress: the try has ended");
    assert.deepEqual(await history(nc, job.id), events);

    assert.equal((await runOne(worker.jobs.mute, { n: 1 })).state, "completed");
    assert.deepEqual(refusals, [
      "disabled | Cannot publish progress: the queue has it switched off",
      "disabled | Cannot publish a log line: the queue has it switched off",
    ]);
  },
);

testOnBothServers(
  "start() keeps a job that takes three times ackWaitMs, and job.heartbeat() extends at once",
  async (server) => {
    const definition = defineJobs(service, {
      long: { payload, ackWaitMs: 1_000, concurrency: 2 },
      idle: { payload },
    });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    const extended = Promise.withResolvers<void>();
    nc.subscribe("$JS.ACK.JOBS_WORK.handlers-idle.>", {
      callback: (_error, message) => void (message.string() === "+WPI" && extended.resolve()),
    });
    await nc.flush();
    worker.jobs.idle.handle(async ({ job }) => {
      await job.heartbeat().orThrow();
      await within("extension", extended.promise);
    });
    const deliveries: number[] = [];
    worker.jobs.long.handle(async ({ job }) => {
      deliveries.push(job.deliveries);
      await new Promise((resolve) => setTimeout(resolve, 3_000));
    });
    await worker.start().orThrow();
    const [idle, long] = await Promise.all([
      runOne(worker.jobs.idle, { n: 1 }),
      runOne(worker.jobs.long, { n: 1 }),
    ]);
    assert.deepEqual([idle.state, long.state, long.job.tries], ["completed", "completed", 1]);
    assert.deepEqual(deliveries, [1]);
  },
);

testOnBothServers(
  "middleware runs outermost first, adds to the handler's input, and may fail the try",
  async (server) => {
    const steps: string[] = [];
    const layer =
      <Added extends object>(name: string, added: Added): Middleware<Added> =>
      async ({ job, queue }, next) => {
        steps.push(`${name} in ${queue.jobType} ${job.tries}`);
        try {
          return await next(added);
        } finally {
          steps.push(`${name} out`);
        }
      };
    const strict: Middleware<{ allowed: true }> = ({ job }, next) => {
      if (job.tries === 1) throw new Error("not yet allowed");
      return next({ allowed: true });
    };
    const definition = defineJobs(service, { wrapped: { payload, backoffMs: [10] } });
    await using worker = await connectService(definition, {
      servers: server.url,
      middleware: [layer("first", { user: "ann" }), layer("second", { tenant: 7 })],
    }).orThrow();
    worker.jobs.wrapped.handle(({ user, tenant, allowed, job, signal }) => {
      steps.push(`${user} ${tenant} ${allowed} ${job.payload.n} ${signal.aborted}`);
    }, { middleware: [strict] });
    await worker.start().orThrow();
    const { state, job } = await runOne(worker.jobs.wrapped, { n: 5 });
    assert.deepEqual([state, job.tries, job.lastError], ["completed", 2, "not yet allowed"]);
    const outside = (tries: number) => [`first in wrapped ${tries}`, `second in wrapped ${tries}`];
    assert.deepEqual(steps, [
      ...outside(1),
      "second out",
      "first out",
      ...outside(2),
      "ann 7 true 5 false",
      "second out",
      "first out",
    ]);
  },
);

testOnBothServers(
  "start() and stop() tell of their presence, each instance under an id of its own",
  async (server) => {
    const definition = defineJobs(service, {
      seen: { payload, concurrency: 3 },
      idle: { payload },
    });
    await using nc = await connect({ servers: server.url });
    const heartbeats: WorkerHeartbeat[] = [];
    nc.subscribe(PRESENCE_FILTER, {
      callback: (_error, { subject, data }) => {
        heartbeats.push(valueOrThrow(decodeHeartbeat(subject, data)));
      },
    });
    await nc.flush();
    const ids: string[] = [];
    for (const version of ["1.0", "1.1"]) {
      const options = { servers: server.url, version };
      await using worker = await connectService(definition, options).orThrow();
      ids.push(worker.instanceId);
      worker.jobs.seen.handle(() => {});
      await worker.start().orThrow();
      await runOne(worker.jobs.seen, { n: 1 });
    }
    await nc.flush();
    assert.equal(new Set(ids).size, 2);
    const shared = { service, jobType: "seen", concurrency: 3 };
    assert.deepEqual(heartbeats.map(({ timestamp: _, ...rest }) => rest), [
      { ...shared, instanceId: ids[0], version: "1.0" },
      { ...shared, instanceId: ids[0], version: "1.0", stopping: true },
      { ...shared, instanceId: ids[1], version: "1.1" },
      { ...shared, instanceId: ids[1], version: "1.1", stopping: true },
    ]);
  },
);

/** The smallest thing that carries an active span through asynchronous code. */
function carryContexts(): Disposable {
  const storage = new AsyncLocalStorage<ReturnType<ContextManager["active"]>>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, call, self, ...args) => storage.run(active, () => call.apply(self, args)),
    bind: (_context, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  return { [Symbol.dispose]: () => context.disable() };
}

testOnBothServers(
  "create() takes the request and the active span into every event of the job",
  async (server) => {
    const definition = defineJobs(service, { traced: { payload, maxDeliver: 2, backoffMs: [10] } });
    await using nc = await connect({ servers: server.url });
    await using worker = await connectService(definition, { servers: server.url }).orThrow();
    const contexts: JobContext[] = [];
    worker.jobs.traced.handle(async ({ job }) => {
      contexts.push(job.context);
      await job.progress({ step: "one" }).orThrow();
      if (contexts.length < 3) throw new Error("boom");
    });
    await worker.start().orThrow();
    const { job } = await runOne(worker.jobs.traced, { n: 1 }, { requestId: "r-42 Ä" });
    await worker.commands.replay({ service, jobType: "traced", jobId: job.id }).orThrow();
    assert.equal((await worker.jobs.traced.ref(job.id).wait().orThrow()).state, "completed");
    assert.equal(job.context.requestId, "r-42 Ä");
    assert.match(job.context.traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.equal(job.context.traceparent.slice(3, 35), job.context.traceId);
    const events = await storedEvents(nc, job.id);
    assert.ok(events.some(({ event }) => TERMINAL_STATES.some((end) => end === event.eventType)));
    assert.equal(events.length, 11);
    for (const { event, header } of events) {
      assert.deepEqual(event.context, job.context, event.eventType);
      assert.equal(header("request-id"), "r-42 Ä", event.eventType);
      assert.equal(header("traceparent"), job.context.traceparent, event.eventType);
    }
    assert.deepEqual(contexts, Array(3).fill(job.context));

    using _carried = carryContexts();
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const inSpan = (traceState: string) => {
      const span = trace.wrapSpanContext({
        traceId,
        spanId: "00F067AA0BA902B7",
        traceFlags: 0,
        traceState: { ...createTraceState(), serialize: () => traceState },
      });
      return context.with(
        trace.setSpan(ROOT_CONTEXT, span),
        () => runOne(worker.jobs.traced, { n: 1 }),
      );
    };
    const traced = { traceId, traceparent: `00-${traceId}-00f067aa0ba902b7-00` };
    const { requestId: _, ...inherited } = (await inSpan("vendor=1")).job.context;
    assert.deepEqual(inherited, { ...traced, tracestate: "vendor=1" });
    // A state that no event may carry is left behind, and not the job.
    const { requestId: _r, ...cut } = (await inSpan(`vendor=${"x".repeat(600)}`)).job.context;
    assert.deepEqual(cut, traced);
  },
);
