import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { testOnBothServers } from "./servers.ts";

const bulk = defineJobs("bulk", {
  row: { payload: z.object({ n: z.number().int() }), concurrency: 50 },
});
const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n }));

testOnBothServers(
  "createMany() gives a result for each, in order, and all jobs run",
  async (server) => {
    await using service = await connectService(bulk, { servers: server.url }).orThrow();
    const seen = new Set<number>();
    let done: () => void = () => {};
    const all = new Promise<void>((resolve) => done = resolve);
    service.jobs.row.handle(({ job }) => {
      if (seen.add(job.payload.n).size === 2_500) done();
    });
    await service.start().orThrow();
    const results = await service.jobs.row.createMany([...rows(2_500), { n: 0.5 }]);
    assert.equal(results.length, 2_501);
    assert.ok(results.slice(0, 2_500).every(({ ok }) => ok));
    const bad = results[2_500];
    assert.equal(bad?.ok === false && bad.error.reason, "invalid-payload");
    await all;
  },
);

Deno.test("createMany({ atomic }) stores all or nothing", async () => {
  await using server = await startNatsServer();
  await using nc = await connect({ servers: server.url });
  await using service = await connectService(bulk, { connection: nc }).orThrow();
  const count = async () => {
    const answer = await nc.request("$JS.API.STREAM.INFO.JOBS");
    return answer.json<{ state: { messages: number } }>().state.messages;
  };
  const stored = await service.jobs.row.createMany(rows(1_000), { atomic: true });
  assert.ok(stored.length === 1_000 && stored.every(({ ok }) => ok));
  assert.equal(await count(), 1_000);
  const invalid = await service.jobs.row.createMany([...rows(3), { n: 0.5 }], { atomic: true });
  assert.ok(invalid.length === 4 && invalid.every(({ ok }) => !ok));
  const tooMany = await service.jobs.row.createMany(rows(1_001), { atomic: true });
  assert.equal(tooMany[0]?.ok === false && tooMany[0].error.reason, "too-many");
  assert.equal(await count(), 1_000);
});

Deno.test("createMany({ atomic }) says that an old server cannot", async () => {
  await using server = await startNatsServer({ version: "floor" });
  await using service = await connectService(bulk, { servers: server.url }).orThrow();
  const [refused] = await service.jobs.row.createMany(rows(2), { atomic: true });
  assert.equal(refused?.ok === false && refused.error.reason, "atomic-unsupported");
});
