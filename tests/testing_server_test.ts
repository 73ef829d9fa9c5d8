import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { once } from "node:events";
import { connect as connectSocket, createServer } from "node:net";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { findNatsServer, type NatsServer, startNatsServer } from "../testing/mod.ts";
import { launchServer } from "../testing/nats_server.ts";
import { PortTakenError } from "../testing/_server_process.ts";

/** Whether something accepts connections there. */
function isListening(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ port, host, timeout: 1_000 });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
    socket.once("timeout", () => settle(false));
  });
}

/** Whether the process and the folders are really gone, and not only said to be. */
function isStopped(server: NatsServer): boolean {
  assert.throws(() => process.kill(server.pid, 0), { code: "ESRCH" });
  return !server.running && !existsSync(dirname(server.storeDir));
}

for (const [version, pattern] of [["newest", /^2\.1[2-9]\./], ["floor", /^2\.10\./]] as const) {
  Deno.test(`startNatsServer() starts ${version} with JetStream`, async () => {
    await using server = await startNatsServer({ version });
    assert.match(server.version, pattern);
    assert.equal(server.url, `nats://127.0.0.1:${server.port}`);
    await using connection = await connect({ servers: server.url });
    assert.equal(connection.info?.version, server.version);
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "TEST", subjects: ["test.>"] });
    assert.equal((await jetstream(connection).publish("test.one")).seq, 1);
    assert.match(server.log(), /Server is ready/);
  });

  Deno.test(`startNatsServer() restarts ${version} on the same store after SIGKILL`, async () => {
    await using server = await startNatsServer({ version });
    const { port, pid, storeDir } = server;
    await using connection = await connect({
      servers: server.url,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 10,
    });
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: "TEST", subjects: ["test.>"] });
    for (let count = 1; count <= 50; count++) await jetstream(connection).publish("test.one");

    await server.kill();
    assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    assert.equal(server.running, false);
    assert.equal(await isListening(port), false);
    await server.restart();
    assert.equal(server.running, true);
    assert.deepEqual([server.port, server.storeDir], [port, storeDir]);
    assert.notEqual(server.pid, pid);
    await using again = await connect({ servers: server.url });
    const info = await (await jetstreamManager(again)).streams.info("TEST");
    assert.equal(info.state.messages, 50);
  });
}

Deno.test("startNatsServer() restarts a running server in good order", async () => {
  await using server = await startNatsServer();
  await server.restart();
  assert.ok(await isListening(server.port));
  await server.kill("SIGTERM");
  await server.restart();
  assert.ok(await isListening(server.port));
});

Deno.test("startNatsServer() listens on loopback only, whatever the configuration says", async () => {
  await using server = await startNatsServer({ config: 'listen: "0.0.0.0:4222"' });
  assert.ok(await isListening(server.port));
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
    .filter((address) => !address.internal && address.family === "IPv4");
  for (const { address } of addresses) {
    assert.equal(await isListening(server.port, address), false);
  }
});

Deno.test("startNatsServer() takes configuration beside its own", async () => {
  await using server = await startNatsServer({
    config: `
      max_payload: 2MB
      jetstream { max_mem: 64MB, sync_interval: "1s" }
      accounts { A { jetstream: enabled, users: [{ user: ada, password: secret }] } }
    `,
  });
  await using connection = await connect({ servers: server.url, user: "ada", pass: "secret" });
  assert.equal(connection.info?.max_payload, 2 * 1024 * 1024);
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: "TEST", subjects: ["test.>"] });
  assert.ok(existsSync(`${server.storeDir}/jetstream/A/streams/TEST`));
  assert.match(server.log(), /Max Memory: +64\.00 MB/);
});

Deno.test("startNatsServer() tells a bad configuration in the server's own words", async () => {
  await assert.rejects(startNatsServer({ config: "max_payload: many" }), (error: Error) => {
    assert.match(error.message, /^Cannot start nats-server: it ended with 1/);
    assert.match(error.message, /max_payload|int64/);
    return true;
  });
});

Deno.test("stop() removes the process and the folders, and may be called again", async () => {
  const server = await startNatsServer();
  await server.stop();
  await server.stop();
  assert.ok(isStopped(server));
  assert.equal(await isListening(server.port), false);
  assert.match(server.log(), /Server is ready/);
  await assert.rejects(server.restart(), /^Error: Cannot restart nats-server: it was stopped/);
});

Deno.test("stop() ends a server that was killed or is paused", async () => {
  const [killed, paused] = await Promise.all([startNatsServer(), startNatsServer()]);
  await killed.kill();
  await paused.pause();
  await Promise.all([killed.stop(), paused.stop()]);
  assert.ok(isStopped(killed) && isStopped(paused));
});

Deno.test("await using stops the server also when the body throws", async () => {
  let server: NatsServer | undefined;
  await assert.rejects(async () => {
    await using started = await startNatsServer();
    server = started;
    throw new Error("body");
  }, /body/);
  assert.ok(server !== undefined && isStopped(server));
});

Deno.test("pause() leaves connections open and unanswered until resume()", async () => {
  await using server = await startNatsServer();
  await using connection = await connect({ servers: server.url });
  await connection.flush();
  await server.pause();
  let answered = false;
  const flushed = connection.flush().then(() => answered = true);
  // The kernel takes a connection for the server, and the server says nothing.
  const silent = await fetch(`${server.monitoringUrl}/healthz`, {
    signal: AbortSignal.timeout(100),
  }).catch((error: Error) => error.name);
  assert.equal(silent, "TimeoutError");
  assert.equal(answered, false);
  await server.resume();
  await flushed;
});

Deno.test("pause() says so when the server does not run", async () => {
  await using server = await startNatsServer();
  await server.kill();
  await assert.rejects(server.pause(), /^Error: Cannot pause nats-server: it does not run/);
});

Deno.test("kill(), restart() and stop() take effect in the order they are called", async () => {
  const server = await startNatsServer();
  await Promise.all([
    server.kill(),
    server.restart(),
    server.kill(),
    server.restart(),
    server.stop(),
  ]);
  assert.ok(isStopped(server));
});

Deno.test("startNatsServer() starts twenty servers at once", async () => {
  const servers = await Promise.all(Array.from({ length: 20 }, () => startNatsServer()));
  assert.equal(new Set(servers.map((server) => server.port)).size, 20);
  await Promise.all(servers.map((server) => server.stop()));
  assert.ok(servers.every(isStopped));
});

Deno.test("restart() waits while another process has the port", async () => {
  await using server = await startNatsServer();
  await server.kill();
  const squatter = createServer();
  await once(squatter.listen(server.port, "127.0.0.1"), "listening");
  const restarted = server.restart();
  while (!server.log().includes("address already in use")) await delay(10);
  await once(squatter.close(), "close");
  await restarted;
  assert.ok(await isListening(server.port));
});

Deno.test("launchServer() tells a taken port from other failures", async () => {
  await using server = await startNatsServer();
  const found = await findNatsServer();
  const options = { ...found, name: "second", config: undefined, startTimeoutMs: 10_000 };
  await assert.rejects(launchServer({ ...options, port: server.port }), PortTakenError);
});
