import assert from "node:assert/strict";
import { connectService } from "../../mod.ts";
import { startNatsServer } from "../../testing/mod.ts";
import { allProblems, readHistory } from "../history.ts";
import { defineWork, startWorkerProcess } from "../job_processes.ts";
import { loadThroughKills } from "../jobs_process_load.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(`create() and handle() outlive two kills: 10,000 jobs [${version}]`, async () => {
    await using server = await startNatsServer({ version });
    await loadThroughKills(server, { jobs: 10_000, kills: 2 });
  });

  longTest(`create() and handle() outlive a dozen kills: 20,000 jobs [${version}]`, async () => {
    await using server = await startNatsServer({ version });
    await loadThroughKills(server, { jobs: 20_000, kills: 12 });
  });

  longTest(
    `handle() completes all jobs while workers are killed by the dozen [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      const { url } = server;
      const queue = { ackWaitMs: 1_500, concurrency: 20, maxDeliver: 50 };
      await using service = await connectService(defineWork(queue), { servers: url }).orThrow();
      const payloads = Array.from({ length: 2_000 }, () => ({ how: "polite" as const }));
      const created = await service.jobs.work.createMany(payloads);
      const worker = async (instanceId: string) => {
        const process = await startWorkerProcess({
          url,
          instanceId,
          mode: "finish",
          workMs: 50,
          queue,
        });
        await process.tell({ what: "start" });
        return process;
      };
      for (let kill = 0; kill < 12; kill++) {
        await using process = await worker(`killed-${kill}`);
        // Each at another moment: some jobs are done, and what runs is lost.
        await process.running(20 + 7 * kill);
        await process.signal("SIGKILL");
        assert.equal((await process.status).signal, "SIGKILL");
      }
      await using heir = await worker("heir");
      await heir.heard("started");
      for (const result of created) {
        assert.ok(result.ok);
        const { state } = await result.value.wait({ timeoutMs: 120_000 }).orThrow();
        assert.equal(state, "completed");
      }
      const history = await readHistory(url);
      assert.deepEqual(allProblems(history), []);
      assert.equal(history.size, 2_000);
    },
  );
}
