import assert from "node:assert/strict";
import { ask, KIND, startMarket, startTestAdmin } from "./admin_world.ts";
import { eventually } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "/metrics tells depth, outcomes, durations and lag in Prometheus' own form",
  async (server) => {
    await using market = await startMarket(server.url);
    await using world = await startTestAdmin(server.url);
    await market.ended(KIND.complete);
    await market.ended(KIND.die);
    const held = await market.create(KIND.hold);
    await market.begun(held);
    await world.caughtUp();
    await eventually("it is the owner", async () => (await world.admin.health()).role === "owner");
    await eventually(
      "the worker is seen",
      async () => (await world.store.listWorkers({})).length === 1,
    );
    const { body, headers } = await ask(world, "GET", "/metrics");
    assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    const lines = String(body).trimEnd().split("\n");
    const sample = /^[a-z_0-9]+(\{([a-z_]+="[^"\n]*",?)+\})? -?[0-9.e+-]+$/;
    assert.deepEqual(
      lines.filter((line) => !line.startsWith("# ") && !sample.test(line)),
      [],
    );
    const queue = 'service="market",type="sell"';
    for (
      const line of [
        `trellis_jobs{${queue},state="active"} 1`,
        `trellis_jobs{${queue},state="dead"} 1`,
        `trellis_jobs_workers_live{${queue}} 1`,
        `trellis_jobs_events_5m{${queue},event="completed"} 1`,
        `trellis_jobs_events_5m{${queue},event="retry"} 1`,
        `trellis_jobs_run_5m_seconds_count{${queue}} 3`,
        "trellis_jobs_projection_lag 0",
        `trellis_jobs_work{${queue},kind="outstanding"} 1`,
      ]
    ) assert.ok(lines.includes(line), `${line}\n${body}`);
    assert.match(String(body), /^trellis_jobs_owner\{instance_id="[^"]+"\} 1$/m);
  },
);
