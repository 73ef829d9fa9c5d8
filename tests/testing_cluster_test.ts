import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { startNatsCluster, startNatsServer } from "../testing/mod.ts";

/**
 * Publishes until the stream takes it, for at most thirty seconds: while there is no leader, or
 * word of it has not reached the client's server, the answer is an error that passes, often at
 * once, so what counts is the time and not the number of attempts.
 */
async function publishUntilStored(connection: NatsConnection, subject: string): Promise<number> {
  const endsAt = performance.now() + 30_000;
  while (true) {
    try {
      return (await jetstream(connection).publish(subject, "", { timeout: 1_000 })).seq;
    } catch (error) {
      if (performance.now() >= endsAt) throw error;
      await delay(20);
    }
  }
}

for (const version of ["newest", "floor"] as const) {
  Deno.test(`startNatsCluster() forms ${version} and survives its leader's SIGKILL`, async () => {
    await using cluster = await startNatsCluster({ version });
    assert.equal(cluster.servers.length, 3);
    await using connection = await connect({
      servers: [...cluster.urls],
      maxReconnectAttempts: -1,
      reconnectTimeWait: 10,
    });
    const manager = await jetstreamManager(connection, { timeout: 10_000 });
    const stream = { name: "TEST", subjects: ["test.>"], num_replicas: 3 };
    assert.equal((await manager.streams.add(stream)).cluster?.replicas?.length, 2);
    const first = await publishUntilStored(connection, "test.one");

    const leader = await cluster.leaderOf("TEST");
    await leader.kill();
    const next = await cluster.leaderOf("TEST");
    assert.notEqual(next.name, leader.name);
    assert.ok(await publishUntilStored(connection, "test.two") > first);

    await leader.restart();
    await cluster.ready();
    assert.ok((await cluster.metaLeader()).running);
    assert.ok(cluster.servers.every((server) => server.running));
  });
}

Deno.test("startNatsServer() starts a cluster when asked to, also one with passwords", async () => {
  const config = "max_payload: 2MB, authorization { user: ada, password: secret }";
  const cluster = await startNatsServer({ cluster: true, config });
  const credentials = { user: "ada", pass: "secret" };
  const connection = await connect({ servers: [...cluster.urls], ...credentials });
  assert.equal(connection.info?.max_payload, 2 * 1024 * 1024);
  await connection.close();
  await cluster.stop();
  await cluster.stop();
  assert.ok(cluster.servers.every((server) => !server.running && !existsSync(server.storeDir)));
});

Deno.test("ready() does not ask for a server that was ended on purpose", async () => {
  await using cluster = await startNatsCluster({ version: "floor" });
  const leader = await cluster.metaLeader();
  await cluster.servers.find((server) => server !== leader)?.kill("SIGTERM");
  await cluster.ready();
});

Deno.test("startNatsCluster() comes back when all servers were killed", async () => {
  await using cluster = await startNatsCluster();
  await Promise.all(cluster.servers.map((server) => server.kill()));
  await Promise.all(cluster.servers.map((server) => server.restart()));
  await cluster.ready();
  assert.ok((await cluster.metaLeader()).running);
});

Deno.test("leaderOf() says so when no server leads the stream", async () => {
  await using cluster = await startNatsCluster();
  await assert.rejects(
    cluster.leaderOf("NONE", 100),
    /^Error: Cannot find the leader of stream NONE/,
  );
});

Deno.test("startNatsCluster() refuses fewer than two nodes and a bad configuration", async () => {
  await assert.rejects(startNatsCluster({ nodes: 1 }), RangeError);
  await assert.rejects(
    startNatsCluster({ config: "max_payload: many" }),
    /Cannot start nats-server/,
  );
});
