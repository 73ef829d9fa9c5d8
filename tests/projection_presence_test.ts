import assert from "node:assert/strict";
import { connectNats } from "../nats/mod.ts";
import { isLive, startPresenceProjector } from "../projection/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { presenceSubject } from "../protocol/mod.ts";
import { eventually } from "./job_processes.ts";
import { startShop } from "./projection_world.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "startPresenceProjector() shows who works, through absence, goodbyes and kills of the server",
  async (server) => {
    await using before = await startShop(server.url);
    await using connection = await connectNats({ servers: server.url });
    await using store = openSqliteStore({ path: ":memory:" });
    await using presence = startPresenceProjector({ connection, store });
    const live = async () =>
      (await store.listWorkers({})).filter((worker) => isLive(worker, Date.now())).length;
    await eventually("a worker that began before is seen", async () => await live() === 1);
    const [worker] = await store.listWorkers({ service: "shop" });
    assert.equal(worker?.heartbeat.jobType, "work");
    assert.equal(worker?.heartbeat.concurrency, 20);

    await using other = await startShop(server.url);
    await eventually("another one is seen", async () => await live() === 2);
    await other.stop();
    await eventually("a goodbye is seen", async () => await live() === 1);
    assert.equal((await store.listWorkers({})).length, 2);

    const subject = presenceSubject({ service: "shop", jobType: "work", instanceId: "poison" });
    connection.publish(subject, "not a heartbeat");
    await eventually("poison is counted", () => Promise.resolve(presence.health().skipped === 1));

    await server.kill();
    await server.restart();
    await using later = await startShop(server.url);
    await eventually("who begins after the kill is seen", async () => await live() === 2);
    assert.equal(presence.health().state, "running");
    await Promise.all([before.stop(), later.stop()]);
  },
);
