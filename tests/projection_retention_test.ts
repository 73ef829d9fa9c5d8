import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { addressOf, connectService } from "../mod.ts";
import {
  endedBefore,
  purgeEnded,
  purgeJob,
  readHistory,
  resolveRetention,
  startRetention,
} from "../projection/mod.ts";
import { eventually } from "./job_processes.ts";
import { streamState } from "./job_service.ts";
import {
  assertIsFold,
  caughtUp,
  runJobs,
  shop,
  startProjection,
  startShop,
} from "./projection_world.ts";
import { testOnBothServers } from "./servers.ts";

const DAY_MS = 24 * 3_600_000;

testOnBothServers(
  "purgeEnded() removes what the policy lets go from stream and rows, and nothing else",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using service = await startShop(server.url);
    await using projection = await startProjection(server.url);
    const { connection, store } = projection;
    await runJobs(service, 25);
    await caughtUp(server.url, projection);
    const signal = new AbortController().signal;
    const purge = (days: number) =>
      purgeEnded({
        connection,
        store,
        policy: resolveRetention(),
        now: Date.now() + days * DAY_MS,
        signal,
        perSecond: 1_000,
      });
    assert.deepEqual(await purge(6), { purged: 0, left: 0 });
    assert.deepEqual(await purge(8), { purged: 20, left: 0 });
    assert.deepEqual((await store.countQueues()).map(({ state, count }) => [state, count]), [
      ["dead", 5],
    ]);
    assert.equal(await assertIsFold(server.url, store), 5);
    assert.deepEqual(await purge(91), { purged: 5, left: 0 });
    assert.equal((await streamState(nc, "JOBS")).messages, 0);
    assert.equal(await store.countJobs({}), 0);

    // The projector has seen the gaps that the purge made and goes on.
    await runJobs(service, 5);
    await caughtUp(server.url, projection);
    assert.equal(await assertIsFold(server.url, store), 5);
    const rebuilds = projection.notes.filter((note) => note.startsWith("rebuilding"));
    assert.equal(rebuilds.length, 1, projection.notes.join("\n"));
  },
);

testOnBothServers(
  "purgeJob() leaves a job of which the stream knows something newer",
  async (server) => {
    await using service = await startShop(server.url);
    await using projection = await startProjection(server.url);
    const ids = await runJobs(service, 5);
    await caughtUp(server.url, projection);
    const dead = ids[4] ?? "";
    const row = await projection.store.getJob(dead);
    assert.equal(row?.job.state, "dead");
    assert.ok(row !== undefined);
    await projection.projector.stop();
    await service.stop();
    await using operator = await connectService(shop, { servers: server.url }).orThrow();
    await operator.commands.replay(addressOf(row.summary)).orThrow();
    assert.equal(await purgeJob(projection.connection, projection.store, row), false);
    assert.equal((await projection.store.getJob(dead))?.job.state, "dead");
    await using again = await startProjection(server.url);
    await caughtUp(server.url, again);
    assert.equal((await again.store.getJob(dead))?.job.state, "pending");
  },
);

testOnBothServers(
  "startRetention() waits until the projection is live, then purges by itself",
  async (server) => {
    await using service = await startShop(server.url);
    await using projection = await startProjection(server.url);
    await runJobs(service, 5);
    await caughtUp(server.url, projection);
    let [live, asked] = [false, 0];
    let now = Date.now() + 8 * DAY_MS;
    await using retention = startRetention({
      connection: projection.connection,
      store: projection.store,
      policy: resolveRetention({ dead: false }),
      isLive() {
        asked++;
        return live;
      },
      everyMs: 10,
      clock: () => now,
    });
    await eventually("it has looked and waited", () => Promise.resolve(asked > 2));
    assert.equal(await projection.store.countJobs({}), 5);
    live = true;
    await eventually("four are gone", () => Promise.resolve(retention.health().purged === 4));
    assert.deepEqual(
      await projection.store.readStatistics({
        resolution: "minute",
        from: new Date(0).toISOString(),
        to: new Date(now).toISOString(),
      }),
      [],
    );
    now += 10_000 * DAY_MS;
    await runJobs(service, 1);
    await eventually("the new one is gone", () => Promise.resolve(retention.health().purged === 5));
    assert.equal(await projection.store.countJobs({}), 1);
    assert.equal(retention.health().state, "running");
    assert.equal(endedBefore(resolveRetention({ dead: false }), now).dead, undefined);
  },
);

testOnBothServers("readHistory() gives a job's events in parts, as stored", async (server) => {
  await using service = await startShop(server.url);
  await using projection = await startProjection(server.url);
  const ids = await runJobs(service, 10);
  await caughtUp(server.url, projection);
  const job = await projection.store.getJob(ids[3] ?? "");
  assert.ok(job !== undefined);
  const whole = await readHistory(projection.connection, job);
  assert.deepEqual(whole.entries.map(({ event }) => event.eventType), [
    "created",
    "started",
    "retry",
    "started",
    "completed",
  ]);
  assert.equal(whole.nextSequence, undefined);
  assert.equal(whole.entries[0]?.sequence, job.firstSequence);
  assert.equal(whole.entries.at(-1)?.sequence, job.lastSequence);
  assert.equal(Date.parse(whole.entries.at(-1)?.storedAt ?? ""), Date.parse(job.changedAt));
  const begin = await readHistory(projection.connection, job, { limit: 2 });
  assert.deepEqual(begin.entries, whole.entries.slice(0, 2));
  const rest = await readHistory(projection.connection, job, {
    fromSequence: begin.nextSequence ?? 0,
  });
  assert.deepEqual(rest.entries, whole.entries.slice(2));
});
