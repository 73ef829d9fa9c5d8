import assert from "node:assert/strict";
import { connectService } from "../mod.ts";
import { defineWork, startWaiterProcess, startWorkerProcess } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "wait() in another process, by id alone, sees the end from before, during and after the job",
  async (server) => {
    const { url } = server;
    const queue = { concurrency: 10 };
    await using service = await connectService(defineWork(queue), { servers: url }).orThrow();
    const create = async () => (await service.jobs.work.create({ how: "polite" }).orThrow()).id;
    const [before, during, after] = [await create(), await create(), await create()];
    await using waiter = await startWaiterProcess(url);
    await using worker = await startWorkerProcess({ url, instanceId: "a", mode: "hold", queue });

    await waiter.tell({ what: "wait", jobId: before });
    await waiter.heard("waiting", before);
    await worker.tell({ what: "start" });
    await worker.running(3);
    await waiter.tell({ what: "wait", jobId: during });
    await waiter.heard("waiting", during);
    assert.deepEqual(waiter.jobs("ended"), []);
    await worker.tell({ what: "release" });
    assert.equal((await waiter.heard("ended", before)).outcome, "completed");
    assert.equal((await waiter.heard("ended", during)).outcome, "completed");
    await service.jobs.work.ref(after).wait({ timeoutMs: 60_000 }).orThrow();
    await waiter.tell({ what: "wait", jobId: after });
    assert.equal((await waiter.heard("ended", after)).outcome, "completed");
  },
);

testOnBothServers(
  "wait() in another process outlives a kill of the server, and ends by time-out or signal",
  async (server) => {
    const { url } = server;
    const queue = { concurrency: 10 };
    await using service = await connectService(defineWork(queue), { servers: url }).orThrow();
    const create = async () => (await service.jobs.work.create({ how: "polite" }).orThrow()).id;
    const [patient, hasty, alone] = [await create(), await create(), await create()];
    const [aborted, abortedBefore] = [await create(), await create()];
    await using waiter = await startWaiterProcess(url);
    await using worker = await startWorkerProcess({ url, instanceId: "a", mode: "hold", queue });
    await worker.tell({ what: "start" });
    await worker.running(5);

    await waiter.tell({ what: "wait", jobId: patient });
    await waiter.tell({ what: "wait", jobId: aborted });
    await waiter.tell({ what: "abort", jobId: abortedBefore });
    await waiter.tell({ what: "wait", jobId: abortedBefore });
    assert.equal((await waiter.heard("ended", abortedBefore)).outcome, "aborted");
    await waiter.tell({ what: "wait", jobId: hasty, timeoutMs: 300 });
    assert.equal((await waiter.heard("ended", hasty)).outcome, "timeout");

    await server.kill();
    // A signal and a time-out are obeyed also while there is no server to ask.
    const askedAt = performance.now();
    await waiter.tell({ what: "abort", jobId: aborted });
    await waiter.tell({ what: "wait", jobId: alone, timeoutMs: 300 });
    assert.equal((await waiter.heard("ended", aborted)).outcome, "aborted");
    assert.equal((await waiter.heard("ended", alone)).outcome, "timeout");
    assert.ok(performance.now() - askedAt < 2_000, "both were obeyed at once");
    await server.restart();

    assert.deepEqual(
      new Set(waiter.jobs("ended")),
      new Set([abortedBefore, hasty, aborted, alone]),
    );
    await worker.tell({ what: "release" });
    assert.equal((await waiter.heard("ended", patient)).outcome, "completed");
  },
);
