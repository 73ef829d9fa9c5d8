import assert from "node:assert/strict";
import type { AdminClient } from "../admin/mod.ts";
import { PROCEDURE_NAMES } from "../admin/procedures.ts";
import { eventually } from "./job_processes.ts";
import { history } from "./job_service.ts";
import { connect } from "@nats-io/transport-node";
import { KIND, startMarket, startTestAdmin } from "./admin_world.ts";
import { testOnBothServers } from "./servers.ts";

for (const transport of ["http", "nats"] as const) {
  testOnBothServers(
    `every procedure gives the right answer over ${transport}`,
    async (server) => {
      await using market = await startMarket(server.url);
      await using world = await startTestAdmin(server.url);
      const used = new Set<string>();
      const client = noting(world[transport], used);
      const completed = await market.ended(KIND.complete);
      const failed = await market.ended(KIND.fail);
      const dead = [await market.ended(KIND.die), await market.ended(KIND.die)] as const;
      const held = await market.create(KIND.hold);
      await market.begun(held);
      await world.caughtUp();

      const page = await client.list({ limit: 2 }).orThrow();
      assert.deepEqual([page.entries.length, page.count, page.nextOffset], [2, 5, 2]);
      const rest = await client.list({ limit: 10, offset: 2 }).orThrow();
      assert.deepEqual([rest.entries.length, "nextOffset" in rest], [3, false]);
      const byCursor = await client.list({ limit: 10, cursor: page.nextCursor ?? "" }).orThrow();
      assert.deepEqual(byCursor.entries, rest.entries);
      const filtered = await client.list({
        ...{ service: "market", type: "sell", state: ["failed", "completed"], limit: 10 },
        since: "2020-01-01T00:00:00+02:00",
      }).orThrow();
      assert.deepEqual(filtered.entries.map(({ id }) => id).sort(), [completed, failed].sort());
      assert.deepEqual(filtered.entries[0]?.payload, { n: KIND.fail });
      const bare = await client.list({ limit: 1, documents: false }).orThrow();
      assert.equal(bare.entries[0]?.documentsOmitted, true);
      const later = await client.list({ limit: 10, since: "2100-01-01T00:00:00Z" }).orThrow();
      assert.equal(later.count, 0);

      const got = await client.get({ id: completed }).orThrow();
      assert.deepEqual([got.job.id, got.job.state], [completed, "completed"]);
      const events = await client.events({ id: completed }).orThrow();
      assert.deepEqual(events.entries.map(({ event }) => event.eventType), [
        "created",
        "started",
        "completed",
      ]);
      const dlq = await client.listDLQ({ limit: 10 }).orThrow();
      assert.deepEqual(dlq.entries.map(({ id }) => id), [dead[1], dead[0]]);

      const services = await client.listServices({ limit: 10 }).orThrow();
      assert.equal(services.count, 1);
      assert.deepEqual(services.entries[0]?.types, ["sell"]);
      await eventually("the worker is seen", async () => {
        const { entries } = await client.listServices({ limit: 10 }).orThrow();
        return entries[0]?.liveWorkers === 1;
      });
      const queues = await client.queues({ limit: 10 }).orThrow();
      assert.equal(queues.entries[0]?.declared?.maxDeliver, 2);
      assert.equal(queues.entries[0]?.work?.outstanding, 1);
      assert.deepEqual(queues.entries[0]?.counts, { active: 1, completed: 1, dead: 2, failed: 1 });
      const stats = await client.stats({}).orThrow();
      assert.equal(stats.total.events.created, 5);
      assert.equal(stats.counts.dead, 2);
      assert.ok(stats.total.run.count >= 4);

      const cancelled = await client.cancel({ id: held, reason: "enough" }).orThrow();
      assert.deepEqual([cancelled.job.state, cancelled.projected], ["cancelled", true]);
      assert.equal((await client.get({ id: held }).orThrow()).job.reason, "enough");
      market.mend();
      const retried = await client.retry({ id: failed }).orThrow();
      assert.deepEqual([retried.job.state, retried.job.tries], ["pending", 0]);
      const replayed = await client.replayDLQ({ id: dead[0], maxTries: 7 }).orThrow();
      assert.equal(replayed.job.maxTries, 7);
      const dismissed = await client.dismissDLQ({ id: dead[1] }).orThrow();
      assert.equal(dismissed.job.state, "dismissed");
      await eventually("both ran again", async () => {
        const { counts } = await client.stats({}).orThrow();
        return counts.completed === 3;
      });
      assert.equal(market.runs.get(failed), 2);
      await client.purge({ id: dead[1] }).orThrow();
      assert.equal(codeOf(await client.get({ id: dead[1] })), "not_found");

      await pauses(client, server.version);
      assert.equal(
        codeOf(await client.getKey({ service: "market", type: "sell", key: "k" })),
        "not_found",
      );
      const release = { service: "market", type: "sell", keyHash: "0".repeat(64) };
      assert.equal(codeOf(await client.releaseKey(release)), "not_found");
      await manyJobs(client, world.caughtUp, market);
      const health = await client.health({}).orThrow();
      assert.deepEqual([health.status, health.problems, health.role], ["ok", [], "owner"]);

      await using nc = await connect({ servers: server.url });
      const [last] = (await history(nc, held)).slice(-1);
      assert.equal(last?.eventType === "cancelled" && last.actor?.startsWith("anonymous"), true);
      const names = PROCEDURE_NAMES.map((name) => name.charAt(0).toLowerCase() + name.slice(1));
      assert.deepEqual(names.filter((name) => !used.has(name)), [], "not asked for");
    },
  );
}

async function pauses(client: AdminClient, version: string): Promise<void> {
  const queue = { service: "market", type: "sell" };
  const until = new Date(Date.now() + 3_600_000).toISOString();
  const paused = await client.pauseQueue({ ...queue, until });
  if (version.startsWith("2.10.")) {
    assert.equal(codeOf(paused), "unsupported");
    assert.equal(codeOf(await client.resumeQueue(queue)), "unsupported");
    return;
  }
  assert.equal(paused.ok && paused.value.paused, true);
  const shown = await client.queues({ limit: 10 }).orThrow();
  assert.equal(shown.entries[0]?.work?.paused, true);
  assert.equal((await client.resumeQueue(queue).orThrow()).paused, false);
  assert.equal(
    codeOf(await client.pauseQueue({ ...queue, until: "2020-01-01T00:00:00Z" })),
    "validation",
  );
}

async function manyJobs(
  client: AdminClient,
  caughtUp: () => Promise<void>,
  market: Awaited<ReturnType<typeof startMarket>>,
): Promise<void> {
  const held = await Promise.all([1, 2, 3].map(() => market.create(KIND.hold)));
  await Promise.all(held.map(market.begun));
  await caughtUp();
  const some = await client.cancelMany({ ids: [held[0] ?? "", "01JZ6N5V4T8Y3K2QX9W7R5M1AB"] })
    .orThrow();
  assert.deepEqual(some.results.map(({ ok }) => ok), [true, false]);
  const others = await client.cancelMany({ filter: { service: "market" }, limit: 1 }).orThrow();
  assert.deepEqual([others.succeeded, others.remaining, others.projected], [1, 1, true]);
  await client.cancelMany({ filter: { state: ["active"] } }).orThrow();
  assert.equal(codeOf(await client.retryMany({ filter: { state: ["completed"] } })), "validation");
  for (const call of [client.retryMany, client.replayDLQMany, client.dismissDLQMany]) {
    const none = await call({ filter: { service: "nobody" } }).orThrow();
    assert.deepEqual([none.results, none.projected], [[], true]);
  }
}

function codeOf(result: { readonly ok: boolean; readonly error?: unknown }): string | undefined {
  const { error } = result;
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

function noting(client: AdminClient, used: Set<string>): AdminClient {
  return new Proxy(client, {
    get(target, name, receiver) {
      used.add(String(name));
      return Reflect.get(target, name, receiver);
    },
  });
}
