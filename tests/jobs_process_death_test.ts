import assert from "node:assert/strict";
import { connectService } from "../mod.ts";
import { allProblems, countOf, readHistory } from "./history.ts";
import { defineWork, startWorkerProcess } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "handle() with a handler that kills its process each time ends the job dead after its tries",
  async (server) => {
    const queue = { maxDeliver: 3, ackWaitMs: 1_000 };
    await using service = await connectService(defineWork(queue), { servers: server.url })
      .orThrow();
    const ref = await service.jobs.work.create({ how: "polite" }).orThrow();
    const finished = ref.wait({ timeoutMs: 60_000 }).orThrow();

    let deaths = 0;
    let over = false;
    const ended = finished.finally(() => over = true);
    while (!over && deaths < 10) {
      await using worker = await startWorkerProcess({
        url: server.url,
        instanceId: `doomed-${deaths}`,
        mode: "die",
        queue,
      });
      await worker.tell({ what: "start" });
      const status = await Promise.race([worker.status, ended.then(() => undefined)]);
      if (status === undefined) break;
      assert.equal(status.signal, "SIGKILL");
      deaths++;
    }

    const { state, job } = await ended;
    assert.equal(state, "dead");
    assert.equal(job.tries, 3);
    assert.match(job.lastError ?? "", /without a word on try 3 of 3/);
    assert.equal(deaths, 3);
    const history = await readHistory(server.url);
    assert.deepEqual(allProblems(history), []);
    assert.equal(countOf(history.get(ref.id), "started"), 3);
  },
);

testOnBothServers(
  "handle() in another process completes all 100 jobs of a worker that was killed",
  async (server) => {
    const queue = { ackWaitMs: 1_500, concurrency: 100 };
    await using service = await connectService(defineWork(queue), { servers: server.url })
      .orThrow();
    const process = (instanceId: string, mode: "hold" | "finish") =>
      startWorkerProcess({ url: server.url, instanceId, mode, queue });
    await using killed = await process("killed", "hold");
    await using heir = await process("heir", "finish");

    await killed.tell({ what: "start" });
    const payloads = Array.from({ length: 100 }, () => ({ how: "polite" as const }));
    const created = await service.jobs.work.createMany(payloads);
    const refs = created.flatMap((result) => result.ok ? [result.value] : []);
    assert.equal(refs.length, 100);
    await killed.running(100);
    await killed.signal("SIGKILL");
    assert.equal((await killed.status).signal, "SIGKILL");
    await heir.tell({ what: "start" });

    for (const ref of refs) {
      const { state, job } = await ref.wait({ timeoutMs: 60_000 }).orThrow();
      assert.equal(state, "completed");
      assert.deepEqual(job.result, { by: "heir", tries: 2 });
    }
    const history = await readHistory(server.url);
    assert.deepEqual(allProblems(history), []);
    assert.equal(history.size, 100);
    for (const { events } of history.values()) {
      const told = events.map(({ eventType }) => eventType);
      assert.deepEqual(told, ["created", "started", "started", "completed"]);
    }
  },
);
