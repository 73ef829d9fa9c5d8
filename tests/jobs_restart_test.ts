import assert from "node:assert/strict";
import { connectService } from "../mod.ts";
import { allProblems, readHistory } from "./history.ts";
import { defineWork } from "./job_processes.ts";
import { loadThroughKills } from "./jobs_process_load.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "create(), handle() and wait() outlive two kills of the server: 2,000 jobs, none lost",
  (server) => loadThroughKills(server, { jobs: 2_000, kills: 2 }),
);

testOnBothServers("handle() goes on after the server froze for 6 seconds", async (server) => {
  const queue = { ackWaitMs: 2_000, concurrency: 20 };
  const definition = defineWork(queue);
  await using service = await connectService(definition, { servers: server.url }).orThrow();
  const running = Promise.withResolvers<void>();
  const frozen = Promise.withResolvers<void>();
  let begun = 0;
  service.jobs.work.handle(async ({ job }) => {
    if (++begun === 20) running.resolve();
    await frozen.promise;
    return { by: "here", tries: job.tries };
  });
  await service.start().orThrow();
  const payloads = Array.from({ length: 100 }, () => ({ how: "quick" as const }));
  const created = await service.jobs.work.createMany(payloads);
  const ends = created.map((result) => {
    assert.ok(result.ok);
    return result.value.wait({ timeoutMs: 60_000 }).orThrow();
  });
  await running.promise;

  await server.pause();
  // The handlers end while nobody takes their results, for longer than one write waits for an answer.
  frozen.resolve();
  const late = service.jobs.work.create({ how: "quick" });
  await new Promise((resolve) => setTimeout(resolve, 6_000));
  await server.resume();

  for (const { state } of await Promise.all(ends)) assert.equal(state, "completed");
  assert.equal(
    (await (await late.orThrow()).wait({ timeoutMs: 60_000 }).orThrow()).state,
    "completed",
  );
  const after = await service.jobs.work.create({ how: "quick" }).orThrow();
  assert.equal((await after.wait({ timeoutMs: 60_000 }).orThrow()).state, "completed");
  assert.deepEqual(allProblems(await readHistory(server.url)), []);
});
