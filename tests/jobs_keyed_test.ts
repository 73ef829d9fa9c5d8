import assert from "node:assert/strict";
import { type KeyView, Snooze, valueOrThrow } from "../mod.ts";
import { aborted, ended, within } from "./job_service.ts";
import { connectSync, gate, moment, untilKey, watchOverlap } from "./keyed_service.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "handle() in two processes runs the jobs of a key one by one and in order, other keys beside",
  async (server) => {
    await using one = await connectSync(server);
    await using two = await connectSync(server);
    const overlap = watchOverlap();
    const order = new Map<string, number[]>();
    for (const service of [one, two]) {
      service.jobs.sync.handle(({ job }) => {
        const { customer, n } = job.payload;
        assert.equal(job.key, `customer:${customer}`);
        assert.ok(Date.parse(job.lease?.leaseExpiresAt ?? "") > Date.now());
        order.set(customer, [...order.get(customer) ?? [], n]);
        return overlap.run(customer, () => moment(2));
      });
    }
    await Promise.all([one.start().orThrow(), two.start().orThrow()]);
    const customers = ["a", "b", "c", "d"];
    const refs = [];
    for (let n = 0; n < 25; n++) {
      for (const customer of customers) {
        refs.push(await one.jobs.sync.create({ customer, n }).orThrow());
      }
    }
    for (const ref of refs) {
      const { state, job } = await ended(ref);
      assert.equal(state, "completed");
      assert.equal(job.tries, 1);
    }
    assert.equal(overlap.most(), 1);
    const inOrder = Array.from({ length: 25 }, (_, n) => n);
    for (const customer of customers) assert.deepEqual(order.get(customer), inOrder);
    const [first] = refs;
    const job = await first?.get().orThrow();
    assert.equal(job?.concurrency?.key, "customer:a");
    assert.deepEqual(job?.queuePolicy, { outcome: "accepted" });
    assert.equal(await one.jobs.sync.viewKey({ customer: "a", n: 0 }).orThrow(), undefined);
  },
);

testOnBothServers(
  "submit() rejects, coalesces and replaces by the queue's policy, create() only rejects",
  async (server) => {
    const outcomes = async (whenFull: "reject" | "coalesce" | "replace-oldest") => {
      const queue = { maxQueuedPerKey: 1, whenFull };
      await using service = await connectSync(server, { queue }, { allowMigration: true });
      const { sync } = service.jobs;
      const opened = gate();
      const begun = gate();
      const ran: string[] = [];
      sync.handle(async ({ job }) => {
        ran.push(job.id);
        begun.open();
        await opened.opened;
      });
      await service.start().orThrow();
      const payload = { customer: whenFull, n: 0 };
      const active = await sync.create(payload).orThrow();
      await within("first job", begun.opened);
      const queued = await sync.create(payload).orThrow();
      const created = await sync.create(payload);
      assert.equal(created.ok, false);
      assert.equal(created.error.reason, "queue-depth");
      assert.deepEqual(created.error.full, {
        reason: "queue-depth",
        active: 1,
        queued: 1,
        limit: 2,
      });
      const submitted = await sync.submit(payload);
      opened.open();
      const last = submitted.kind === "rejected" ? queued : submitted.ref;
      assert.equal((await ended(last)).state, "completed");
      const { queuePolicy } = await last.get().orThrow();
      return { submitted, active, queued, ran, queuePolicy, second: await ended(queued) };
    };
    const rejected = (await outcomes("reject")).submitted;
    assert.equal(rejected.kind === "rejected" && rejected.error.reason, "queue-depth");
    const { submitted: coalesced, queued } = await outcomes("coalesce");
    assert.equal(coalesced.kind === "coalesced" && coalesced.ref.id, queued.id);
    const last = await outcomes("replace-oldest");
    const { submitted: replaced, queued: oldest, second: skipped } = last;
    assert.ok(replaced.kind === "replaced");
    assert.equal(replaced.replacedJobId, oldest.id);
    assert.equal(skipped.state, "skipped");
    assert.match(skipped.state === "skipped" ? skipped.error : "", /took its place/);
    assert.deepEqual(last.ran, [last.active.id, replaced.ref.id]);
    assert.deepEqual(last.queuePolicy, { outcome: "replaced", replacedJobId: oldest.id });
  },
);

testOnBothServers(
  "create() says why a payload has no key, and an idempotency key needs no second place",
  async (server) => {
    await using service = await connectSync(server, { queue: { maxQueuedPerKey: 0 } });
    const { sync } = service.jobs;
    sync.handle(() => {});
    await service.start().orThrow();
    const payload = { customer: "c", n: 1 };
    const first = await sync.create(payload, { idempotencyKey: "k" }).orThrow();
    assert.equal((await ended(first)).state, "completed");
    const again = await sync.create(payload, { idempotencyKey: "k" }).orThrow();
    assert.equal(again.id, first.id);
    assert.equal(await sync.viewKey(payload).orThrow(), undefined, "no place is left behind");
    const long = await sync.create({ customer: "x".repeat(2_000), n: 1 });
    assert.equal(long.ok === false && long.error.reason, "invalid-key");
  },
);

testOnBothServers(
  "cancel() and a deadline end a job that waits for its key at once, and free its place",
  async (server) => {
    await using service = await connectSync(server);
    const { sync } = service.jobs;
    const opened = gate();
    sync.handle(() => opened.opened);
    await service.start().orThrow();
    const payload = { customer: "c", n: 0 };
    const active = await sync.create(payload).orThrow();
    const cancelled = await sync.create(payload).orThrow();
    const expiring = await sync.create(payload, { deadlineMs: 300 }).orThrow();
    await cancelled.cancel().orThrow();
    assert.equal((await ended(expiring)).state, "expired");
    const alone = (view?: KeyView) => view?.active.length === 1 && view.queued.length === 0;
    await untilKey(service, "c", "free places", alone);
    opened.open();
    assert.equal((await ended(active)).state, "completed");
    assert.equal((await ended(cancelled)).job.tries, 0);
  },
);

testOnBothServers(
  "handle() lets later jobs of a key pass one that waits for its retry or is snoozed",
  async (server) => {
    await using service = await connectSync(server, { backoffMs: [60_000] });
    const { sync } = service.jobs;
    sync.handle(({ job }) => {
      if (job.payload.n === 0) throw new Error("again in a minute");
      if (job.payload.n === 1 && !job.redelivered) throw new Snooze(1_500);
    });
    await service.start().orThrow();
    const refs = [];
    for (let n = 0; n < 5; n++) {
      refs.push(await sync.create({ customer: "c", n }).orThrow());
    }
    const [retried, snoozed, ...others] = refs;
    assert.ok(retried && snoozed);
    for (const ref of others) {
      assert.equal(
        (await within("end", ref.wait({ timeoutMs: 1_400 }).orThrow())).state,
        "completed",
      );
    }
    assert.equal((await ended(snoozed)).state, "completed");
    assert.equal((await snoozed.get().orThrow()).tries, 1);
    const view = await sync.viewKey({ customer: "c", n: 0 }).orThrow();
    assert.deepEqual(view?.queued.map(({ jobId }) => jobId), [retried.id]);
    await retried.cancel().orThrow();
  },
);

testOnBothServers(
  "stop() hands slots and waiting jobs back, and another process runs them in order",
  async (server) => {
    const first = await connectSync(server, {}, { drainMs: 0 });
    const begun = gate();
    first.jobs.sync.handle(async ({ signal }) => {
      begun.open();
      throw await aborted(signal);
    });
    await first.start().orThrow();
    await using second = await connectSync(server);
    const ran: number[] = [];
    second.jobs.sync.handle(({ job }) => void ran.push(job.payload.n));
    const refs = [];
    for (let n = 0; n < 5; n++) {
      refs.push(await second.jobs.sync.create({ customer: "c", n }).orThrow());
    }
    await within("first job", begun.opened);
    await within("stop", first.stop());
    await second.start().orThrow();
    for (const ref of refs) {
      const { state, job } = await ended(ref);
      assert.equal(state, "completed");
      assert.equal(job.tries, 1, "nothing was burned");
    }
    assert.deepEqual(ran, [0, 1, 2, 3, 4]);
  },
);

testOnBothServers("createMany() of a keyed queue reserves all or nothing", async (server) => {
  await using service = await connectSync(server, { queue: { maxQueuedPerKey: 1 } });
  const { sync } = service.jobs;
  const payload = { customer: "c", n: 0 };
  const strict = await sync.createMany([payload, payload, payload]);
  assert.deepEqual(strict.map(({ ok }) => ok).sort(), [false, true, true]);
  const other = { customer: "d", n: 0 };
  const atomic = await sync.createMany([other, other, other], { atomic: true });
  assert.deepEqual(atomic.map(({ ok }) => ok), [false, false, false]);
  assert.equal(await sync.viewKey(other).orThrow(), undefined, "nothing stays reserved");
  const fits = await sync.createMany([other, other], { atomic: true });
  const [result] = fits;
  assert.ok(result);
  if (result.ok) assert.equal(valueOrThrow(result).id.length, 26);
  else assert.equal(result.error.reason, "atomic-unsupported");
});
