import assert from "node:assert/strict";
import { createAdminClient, natsTransport } from "../admin/mod.ts";
import { connectNats, provision } from "../nats/mod.ts";
import {
  adminPermissions,
  observerPermissions,
  type Permissions,
  permissionsConfig,
  provisionerPermissions,
  serviceInboxPrefix,
  servicePermissions,
} from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { ask, KIND, startMarket, startTestAdmin } from "./admin_world.ts";
import { eventually } from "./job_processes.ts";
import { VERSIONS } from "./servers.ts";

const user = (name: string, permissions: Permissions) =>
  `{ user: ${name}, password: x, ${permissionsConfig(permissions)} }`;
const CONFIG = `authorization { users: [
  ${user("keeper", adminPermissions("keeper"))}
  ${user("maker", provisionerPermissions("maker"))}
  ${user("ann", observerPermissions("ann"))}
  ${user("market", servicePermissions("market", ["sell"]))}
] }`;
const as = (name: string) => ({ user: name, pass: "x", inboxPrefix: serviceInboxPrefix(name) });

for (const version of VERSIONS) {
  Deno.test(`admin, provisioner and observer do what they do with the least permissions [${version}]`, async () => {
    await using server = await startNatsServer({ version, config: CONFIG });
    const servers = server.url;
    await using maker = await connectNats({ servers, ...as("maker") });
    await provision(maker).orThrow();
    await using connection = await connectNats({ servers, ...as("keeper") });
    await using market = await startMarket(servers, { ...as("market"), provision: false });
    await using world = await startTestAdmin(servers, {
      ...{ connection, provision: false, inboxPrefix: serviceInboxPrefix("keeper") },
      pace: { janitorMs: 50, reconcileMs: 100, retentionMs: 100, reconcileGraceMs: 0 },
    });
    await using observer = await connectNats({ servers, ...as("ann") });
    const client = createAdminClient(natsTransport({ connection: observer }));
    const dead = await market.ended(KIND.die);
    const late = await market.create(KIND.hold, { deadlineMs: 100 });
    await eventually("the janitor ended it", async () => {
      const got = await client.get({ id: late });
      return got.ok && got.value.job.state === "expired";
    });
    market.mend();
    await client.replayDLQ({ id: dead }).orThrow();
    assert.equal(
      (await client.events({ id: dead }).orThrow()).entries[0]?.event.eventType,
      "created",
    );
    assert.equal((await client.queues({ limit: 5 }).orThrow()).count, 1);
    if (version === "newest") {
      await client.pauseQueue({ service: "market", type: "sell" }).orThrow();
      await client.resumeQueue({ service: "market", type: "sell" }).orThrow();
    }
    await client.purge({ id: late }).orThrow();
    assert.equal((await ask(world, "GET", "/metrics")).status, 200);
    const health = await client.health({}).orThrow();
    assert.deepEqual([health.problems, health.role], [[], "owner"]);
    assert.deepEqual(world.notes.filter((note) => /permission|denied|fail/i.test(note)), []);
    // Who only looks cannot write a job's history, nor the one who provisions.
    for (const name of ["ann", "maker"]) {
      await using nc = await connectNats({ servers, ...as(name) });
      nc.publish("trellis.jobs.market.sell.01JZ6N5V4T8Y3K2QX9W7R5M1AB.created", "{}");
      await nc.flush();
    }
    assert.equal((await client.list({ limit: 5 }).orThrow()).count, 1);
    assert.deepEqual(health.projection.skipped, {});
  });
}
