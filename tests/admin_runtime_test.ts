import assert from "node:assert/strict";
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { createAdminClient, httpTransport } from "../admin/mod.ts";
import { durableName, WORK_STREAM, workSubject } from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { startAdminProcess } from "./admin_process.ts";
import { KIND, startMarket, startTestAdmin } from "./admin_world.ts";
import { eventually } from "./job_processes.ts";
import { history, streamState, within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const FAST = { janitorMs: 20, reconcileMs: 50, reconcileGraceMs: 0 };
const QUEUE = { service: "market", jobType: "sell" };

testOnBothServers(
  "jobs run without an admin, and one that comes later knows them all",
  async (server) => {
    await using market = await startMarket(server.url);
    const ids = [await market.ended(KIND.complete), await market.ended(KIND.die)];
    await using world = await startTestAdmin(server.url);
    await world.caughtUp();
    const { entries } = await world.http.list({ limit: 10 }).orThrow();
    assert.deepEqual(entries.map(({ id, state }) => [id, state]), [
      [ids[1], "dead"],
      [ids[0], "completed"],
    ]);
  },
);

testOnBothServers(
  "the owner is killed: another takes over within the lease, and never two at once",
  async (server) => {
    await using market = await startMarket(server.url, { start: false });
    await using owner = startAdminProcess([
      ...["--servers", server.url, "--database", ":memory:", "--lease-ms", "2000"],
      ...["--instance-id", "first"],
    ]);
    await owner.said(/first is the owner, term 1/);
    await using world = await startTestAdmin(server.url, {
      ...{ instanceId: "second", leaseMs: 2_000, pace: FAST },
    });
    const expired: string[] = [];
    const expireOne = async () => {
      const id = await market.create(KIND.complete, { deadlineMs: 1 });
      await eventually("it is expired", async () => {
        const got = await world.http.get({ id });
        return got.ok && got.value.job.state === "expired";
      });
      expired.push(id);
    };
    await expireOne();
    assert.equal((await world.http.health({}).orThrow()).role, "standby");
    const killedAt = performance.now();
    await owner.end("SIGKILL");
    await eventually(
      "the other is the owner",
      async () => (await world.http.health({}).orThrow()).role === "owner",
    );
    const tookMs = performance.now() - killedAt;
    // The lease, what clocks may differ by, and a moment.
    assert.ok(tookMs < 2_000 + 1_000 + 1_000, `took ${Math.round(tookMs)} ms`);
    await expireOne();
    await using nc = await connect({ servers: server.url });
    const reasons = await Promise.all(expired.map(async (id) => {
      const [last] = (await history(nc, id)).slice(-1);
      return last?.eventType === "expired" ? last.reason : undefined;
    }));
    assert.match(reasons[0] ?? "", /found by admin first, term 1$/);
    assert.match(reasons[1] ?? "", /found by admin second, term 2$/);
  },
);

testOnBothServers(
  "deadlines end jobs, also running ones; a replayed job gets a new one and runs",
  async (server) => {
    await using market = await startMarket(server.url);
    await using world = await startTestAdmin(server.url, { pace: FAST });
    const running = await market.create(KIND.hold, { deadlineMs: 300 });
    await market.begun(running);
    const ref = market.service.jobs.sell.ref(running);
    assert.equal((await ref.wait({ timeoutMs: 10_000 }).orThrow()).state, "expired");
    const dead = await market.create(KIND.die, { deadlineMs: 400 });
    assert.equal(
      (await market.service.jobs.sell.ref(dead).wait({ timeoutMs: 10_000 }).orThrow()).state,
      "dead",
    );
    const deadline = Date.parse(
      (await market.service.jobs.sell.ref(dead).get().orThrow()).deadline ?? "",
    );
    await eventually("its deadline has passed", () => Promise.resolve(Date.now() > deadline));
    await world.caughtUp();
    market.mend();
    await world.http.replayDLQ({ id: dead }).orThrow();
    assert.equal(
      (await market.service.jobs.sell.ref(dead).wait({ timeoutMs: 10_000 }).orThrow()).state,
      "completed",
    );
  },
);

testOnBothServers(
  "two operators retry one job at once: it runs once more, and one is told why not",
  async (server) => {
    await using market = await startMarket(server.url);
    await using world = await startTestAdmin(server.url);
    await using second = await startTestAdmin(server.url, { role: "rpc-only", rpc: false });
    for (let round = 0; round < 5; round++) {
      market.mend(false);
      const id = await market.ended(KIND.fail);
      market.mend();
      await Promise.all([world.caughtUp(), second.caughtUp()]);
      const answers = await Promise.all([world.http.retry({ id }), second.http.retry({ id })]);
      const refused = answers.flatMap((answer) => answer.ok ? [] : [answer.error]);
      assert.equal(refused.length, 1);
      assert.equal(refused[0]?.code, "wrong_state");
      await market.service.jobs.sell.ref(id).wait({ timeoutMs: 10_000 }).orThrow();
      assert.equal(market.runs.get(id), 2);
      await using nc = await connect({ servers: server.url });
      const retried = (await history(nc, id)).filter(({ eventType }) => eventType === "retried");
      assert.equal(retried.length, 1);
    }
  },
);

testOnBothServers(
  "exhausted deliveries without a worker's word end dead, and the work message goes",
  async (server) => {
    await using market = await startMarket(server.url, { start: false });
    await using world = await startTestAdmin(server.url, { pace: { reconcileMs: 3_600_000 } });
    await using nc = await connect({ servers: server.url });
    const manager = await jetstreamManager(nc);
    // What no reader can make sense of does not stop it, nor does what is no longer there.
    const advisory = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.JOBS_WORK.market-sell";
    nc.publish(advisory, "not JSON");
    nc.publish(advisory, JSON.stringify({ stream: WORK_STREAM, stream_seq: 99, deliveries: 2 }));
    const ids = [await market.create(KIND.complete), await market.create(KIND.complete)];
    await manager.consumers.add(WORK_STREAM, {
      durable_name: durableName(QUEUE),
      filter_subject: workSubject(QUEUE),
      ack_policy: AckPolicy.Explicit,
      ack_wait: 100_000_000,
      max_deliver: 2,
    });
    const consumer = await jetstream(nc).consumers.get(WORK_STREAM, durableName(QUEUE));
    // Takes the work and says nothing, until the server gives up.
    const silent = async () => {
      for (;;) {
        for await (const _ of await consumer.fetch({ max_messages: 10, expires: 1_000 }));
        if ((await streamState(nc, WORK_STREAM)).messages === 0) return;
      }
    };
    await within("the end of all work", silent());
    await world.caughtUp();
    for (const id of ids) {
      const { job } = await world.http.get({ id }).orThrow();
      assert.equal(job.state, "dead");
      assert.match(job.lastError ?? "", /delivered 2 times and no worker said how it ended/);
    }
    await eventually("all are counted", async () => {
      const { advisories } = (await world.http.health({}).orThrow()).loops;
      const { dead, unreadable, "message-gone": gone } = advisories?.done ?? {};
      return dead === 2 && unreadable === 1 && gone === 1;
    });
    assert.deepEqual((await world.http.health({}).orThrow()).problems, []);
  },
);

testOnBothServers(
  "a job whose work message is gone gets one again, and others do not",
  async (server) => {
    await using market = await startMarket(server.url, { start: false });
    const ids = await Promise.all([0, 0, 0].map(() => market.create(KIND.complete)));
    await using nc = await connect({ servers: server.url });
    const manager = await jetstreamManager(nc);
    await eventually(
      "the work is there",
      async () => (await streamState(nc, WORK_STREAM)).messages === 3,
    );
    await manager.streams.deleteMessage(WORK_STREAM, 2);
    await using world = await startTestAdmin(server.url, { pace: FAST });
    await eventually("it has work again", async () => {
      const { reconciler } = (await world.http.health({}).orThrow()).loops;
      return reconciler?.done?.["enqueued-again"] === 1;
    });
    await eventually("another round is over", async () => {
      const { reconciler } = (await world.http.health({}).orThrow()).loops;
      return (reconciler?.done?.["checked"] ?? 0) >= 9;
    });
    assert.equal((await streamState(nc, WORK_STREAM)).messages, 3);
    await market.service.start().orThrow();
    for (const id of ids) {
      const ended = await market.service.jobs.sell.ref(id).wait({ timeoutMs: 10_000 }).orThrow();
      assert.equal(ended.state, "completed");
      assert.equal(market.runs.get(id), 1);
    }
  },
);

testOnBothServers(
  "a mutation that the lists do not show in time is done, and says so",
  async (server) => {
    await using market = await startMarket(server.url, { start: false });
    await using writer = await startTestAdmin(server.url, { rpc: false });
    const id = await market.create(KIND.complete);
    await writer.caughtUp();
    // Reads the rows that the other keeps, until that one is gone.
    await using reader = await startTestAdmin(server.url, {
      ...{ store: writer.store, role: "rpc-only", sharedStore: true, projectedWithinMs: 100 },
    });
    await writer.admin.stop();
    const { job, projected } = await reader.http.cancel({ id }).orThrow();
    assert.deepEqual([job.state, projected], ["cancelled", false]);
    assert.equal((await market.service.jobs.sell.ref(id).get().orThrow()).state, "cancelled");
  },
);

Deno.test("deno task admin waits for NATS in plain words, says what it does, and ends in order", async () => {
  const folder = await Deno.makeTempDir();
  await using server = await startNatsServer();
  await server.kill();
  const database = `${folder}/deep/jobs.sqlite`;
  await using process = startAdminProcess(["--servers", server.url, "--database", database]);
  await process.said(/Cannot reach NATS at nats:.*trying again every 2 s/);
  await server.restart();
  await process.said(/no authentication: everybody on this machine/);
  await process.said(/ready on port/);
  const client = createAdminClient(httpTransport({ url: process.url }));
  assert.equal((await client.list({ limit: 1 }).orThrow()).count, 0);
  await process.end("SIGTERM");
  assert.equal((await process.status).code, 0);
  assert.match(process.lines.at(-1) ?? "", /stopped$/);
  await Deno.remove(folder, { recursive: true });
  await using refused = startAdminProcess(["--bind", "0.0.0.0:0"]);
  await refused.said(/Cannot listen on 0\.0\.0\.0:0 without authentication/);
  assert.equal((await refused.status).code, 1);
});
