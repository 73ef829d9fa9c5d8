import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { connectNats } from "../../nats/mod.ts";
import { startNatsCluster } from "../../testing/mod.ts";
import { KIND, startMarket, startTestAdmin } from "../admin_world.ts";
import { eventually } from "../job_processes.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `a stalled source is noticed and healed after its leader was killed [${version}]`,
    async () => {
      await using cluster = await startNatsCluster({ version });
      const [url = ""] = cluster.urls;
      const servers = [...cluster.urls];
      await using market = await startMarket(url, { servers });
      const connection = await connectNats({ servers });
      await using world = await startTestAdmin(url, { connection });
      await market.ended(KIND.complete);
      await using nc = await connect({ servers });
      const manager = await jetstreamManager(nc);
      const leader = (await manager.streams.info("JOBS")).cluster?.leader;
      const victim = cluster.servers.find(({ name }) => name === leader);
      assert.ok(victim !== undefined);
      await victim.kill();
      const killedAt = performance.now();
      const created = await eventuallyCreated(market);
      const ref = market.service.jobs.sell.ref(created);
      const ended = await ref.wait({ timeoutMs: 60_000 }).orThrow();
      const tookMs = Math.round(performance.now() - killedAt);
      assert.equal(ended.state, "completed");
      // Without a step-down it was seen to take 20 s; an election alone takes about five.
      assert.ok(tookMs < 15_000, `took ${tookMs} ms: ${world.notes.join("; ")}`);
      await eventually(
        "all is well again",
        async () => (await world.admin.health()).problems.length === 0,
      );
    },
  );
}

async function eventuallyCreated(market: Awaited<ReturnType<typeof startMarket>>): Promise<string> {
  for (;;) {
    const created = await market.service.jobs.sell.create({ n: KIND.complete });
    if (created.ok) return created.value.id;
  }
}
