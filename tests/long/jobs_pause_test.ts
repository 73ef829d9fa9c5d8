import assert from "node:assert/strict";
import { connectService } from "../../mod.ts";
import { startNatsServer } from "../../testing/mod.ts";
import { allProblems, readHistory } from "../history.ts";
import { defineWork } from "../job_processes.ts";
import { longTest, VERSIONS } from "../servers.ts";

/** Longer than pings take to notice, longer than a write is repeated, and longer than `ackWaitMs`. */
const FROZEN_MS = 40_000;

for (const version of VERSIONS) {
  longTest(`handle() goes on after the server froze for 40 seconds [${version}]`, async () => {
    await using server = await startNatsServer({ version });
    const queue = { ackWaitMs: 10_000, concurrency: 20 };
    await using service = await connectService(defineWork(queue), { servers: server.url })
      .orThrow();
    const running = Promise.withResolvers<void>();
    const frozen = Promise.withResolvers<void>();
    let begun = 0;
    service.jobs.work.handle(async ({ job }) => {
      if (++begun === 20) running.resolve();
      await frozen.promise;
      return { by: "here", tries: job.tries };
    });
    await service.start().orThrow();
    const payloads = Array.from({ length: 200 }, () => ({ how: "quick" as const }));
    const created = await service.jobs.work.createMany(payloads);
    const ends = created.map((result) => {
      assert.ok(result.ok);
      return result.value.wait({ timeoutMs: 180_000 }).orThrow();
    });
    await running.promise;
    await server.pause();
    frozen.resolve();
    await new Promise((resolve) => setTimeout(resolve, FROZEN_MS));
    await server.resume();
    for (const { state } of await Promise.all(ends)) assert.equal(state, "completed");
    assert.deepEqual(allProblems(await readHistory(server.url)), []);
  });
}
