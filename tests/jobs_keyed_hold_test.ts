import assert from "node:assert/strict";
import { aborted, ended, storedEvents, within } from "./job_service.ts";
import { connectSync, gate, moment, untilKey, watchOverlap } from "./keyed_service.ts";
import { testOnBothServers } from "./servers.ts";
import { connect } from "@nats-io/transport-node";

const PAYLOAD = { customer: "c", n: 0 };
const KEYS = { heartbeatIntervalMs: 300, heartbeatTtlMs: 3_000 };

testOnBothServers(
  "a key that is held for long burns no try of the hundred that wait behind it",
  async (server) => {
    const options = { ackWaitMs: 1_000, keys: KEYS };
    await using one = await connectSync(server, options);
    await using two = await connectSync(server, options);
    const opened = gate();
    const order: number[] = [];
    for (const service of [one, two]) {
      service.jobs.sync.handle(async ({ job }) => {
        assert.equal(job.deliveries, 1);
        order.push(job.payload.n);
        if (job.payload.n === 0) await opened.opened;
      });
    }
    await Promise.all([one.start().orThrow(), two.start().orThrow()]);
    const refs = [];
    for (let n = 0; n <= 100; n++) {
      refs.push(await one.jobs.sync.create({ customer: "c", n }).orThrow());
    }
    // Several times as long as a delivery would be kept from others.
    await moment(3_500);
    assert.deepEqual(order, [0]);
    opened.open();
    for (const ref of refs) {
      const { state, job } = await ended(ref);
      assert.equal(state, "completed");
      assert.equal(job.tries, 1);
    }
    assert.deepEqual(order, Array.from({ length: 101 }, (_, n) => n));
  },
);

testOnBothServers(
  "cancel() of a job whose handler ignores its signal keeps the slot until the handler returns",
  async (server) => {
    await using service = await connectSync(server, { keys: KEYS });
    const { sync } = service.jobs;
    const opened = gate();
    const ignoring = gate();
    const overlap = watchOverlap();
    sync.handle(({ job, signal }) =>
      overlap.run("c", async () => {
        if (job.payload.n !== 0) return;
        void aborted(signal).then(ignoring.open);
        await opened.opened;
      })
    );
    await service.start().orThrow();
    const first = await sync.create(PAYLOAD).orThrow();
    const second = await sync.create({ ...PAYLOAD, n: 1 }).orThrow();
    await untilKey(service, "c", "start", (view) => view?.active.length === 1);
    await first.cancel().orThrow();
    await within("abort", ignoring.opened);
    // Longer than the line's patience and than a silent owner is believed.
    await moment(2_500);
    assert.equal((await second.get().orThrow()).state, "pending");
    opened.open();
    assert.equal((await ended(second)).state, "completed");
    assert.equal((await ended(first)).state, "cancelled");
    assert.equal(overlap.most(), 1);
  },
);

testOnBothServers(
  "a handler that outlives its timeout keeps the slot until it returns, then its job comes back",
  async (server) => {
    await using service = await connectSync(server, {
      keys: KEYS,
      timeoutMs: 100,
      backoffMs: [100],
    });
    const { sync } = service.jobs;
    const opened = gate();
    const order: string[] = [];
    const overlap = watchOverlap();
    sync.handle(({ job }) =>
      overlap.run("c", async () => {
        order.push(`${job.payload.n} try ${job.tries}`);
        if (job.payload.n === 0 && job.tries === 1) await opened.opened;
      })
    );
    await service.start().orThrow();
    const first = await sync.create(PAYLOAD).orThrow();
    const second = await sync.create({ ...PAYLOAD, n: 1 }).orThrow();
    const retried = async () => {
      while ((await first.get().orThrow()).state !== "retry") await moment(20);
    };
    await within("retry", retried());
    await moment(1_500);
    assert.deepEqual(order, ["0 try 1"]);
    opened.open();
    for (const ref of [first, second]) assert.equal((await ended(ref)).state, "completed");
    assert.deepEqual(order.toSorted(), ["0 try 1", "0 try 2", "1 try 1"]);
    assert.equal(overlap.most(), 1);
  },
);

testOnBothServers(
  "stop() with a handler that ignores its signal keeps the slot from others",
  async (server) => {
    const first = await connectSync(server, { keys: KEYS }, { drainMs: 0 });
    const opened = gate();
    const overlap = watchOverlap();
    const begun = gate();
    first.jobs.sync.handle(() => {
      begun.open();
      return overlap.run("c", () => opened.opened);
    });
    await first.start().orThrow();
    await using second = await connectSync(server, { keys: KEYS });
    second.jobs.sync.handle(() => overlap.run("c", () => Promise.resolve()));
    const refs = [
      await second.jobs.sync.create(PAYLOAD).orThrow(),
      await second.jobs.sync.create({ ...PAYLOAD, n: 1 }).orThrow(),
    ];
    await within("first job", begun.opened);
    await within("stop", first.stop());
    await second.start().orThrow();
    await moment(500);
    for (const ref of refs) assert.notEqual((await ref.get().orThrow()).state, "completed");
    opened.open();
    for (const ref of refs) assert.equal((await ended(ref)).state, "completed");
    assert.equal(overlap.most(), 1);
  },
);

testOnBothServers("events of keyed jobs carry the key, the slot and its lease", async (server) => {
  await using service = await connectSync(server, { keys: KEYS });
  service.jobs.sync.handle(async ({ job }) => {
    const before = job.lease?.heartbeatAt ?? "";
    await moment(5);
    await job.heartbeat().orThrow();
    assert.ok((job.lease?.heartbeatAt ?? "") > before, "renewed");
  });
  await service.start().orThrow();
  const ref = await service.jobs.sync.create(PAYLOAD).orThrow();
  await ended(ref);
  await using nc = await connect({ servers: server.url });
  const events = (await storedEvents(nc, ref.id)).map(({ event }) => event);
  const [created, started, completed] = events;
  assert.ok(created?.eventType === "created" && started?.eventType === "started");
  assert.ok(completed?.eventType === "completed");
  assert.deepEqual(Object.keys(created.concurrency ?? {}), ["key", "keyHash"]);
  const { slotToken, instanceId, leaseExpiresAt } = started.concurrency ?? {};
  assert.equal(instanceId, service.instanceId);
  assert.ok(Date.parse(leaseExpiresAt ?? "") > Date.parse(started.timestamp));
  assert.equal(started.concurrency?.staleTakeoverCount, 0);
  assert.equal(completed.concurrency?.slotToken, slotToken);
});
