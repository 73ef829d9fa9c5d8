import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { connectService } from "../mod.ts";
import { durableName, WORK_STREAM } from "../protocol/mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { allProblems, countOf, type JobHistory, readHistory } from "./history.ts";
import { defineWork, eventually, startWorkerProcess } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";

// So long that nothing in these tests can come back by the server's own redelivery.
const queue = { ackWaitMs: 300_000, concurrency: 50 };
const address = { service: "shop", jobType: "work" };

/** How many deliveries of the queue's work are neither settled nor given back. */
async function heldByWorkers(server: NatsServer): Promise<number> {
  await using nc = await connect({ servers: server.url });
  const manager = await jetstreamManager(nc);
  return (await manager.consumers.info(WORK_STREAM, durableName(address))).num_ack_pending;
}

function startsBy(history: JobHistory | undefined, instanceId: string): number {
  return history?.events.filter((event) =>
    event.eventType === "started" && event.instanceId === instanceId
  ).length ?? 0;
}

testOnBothServers(
  "wait() at SIGTERM lets jobs finish, gives back the others without losing a try, and exits 0",
  async (server) => {
    await using service = await connectService(defineWork(queue), { servers: server.url })
      .orThrow();
    const { work } = service.jobs;
    const create = async (how: "quick" | "brief" | "polite" | "deaf", count: number) => {
      const created = await work.createMany(Array.from({ length: count }, () => ({ how })));
      return created.map((result) => result.ok ? result.value : assert.fail(result.error));
    };
    const url = server.url;
    await using leaving = await startWorkerProcess({
      url,
      instanceId: "leaving",
      mode: "hold",
      drainMs: 3_000,
      queue,
    });
    await using staying = await startWorkerProcess({
      url,
      instanceId: "staying",
      mode: "finish",
      queue,
    });
    await leaving.tell({ what: "start" });
    // Quick jobs teach the worker to fetch ahead.
    for (const ref of await create("quick", 500)) await ref.wait({ timeoutMs: 30_000 }).orThrow();
    const brief = await create("brief", 20);
    const polite = await create("polite", 15);
    const deaf = await create("deaf", 15);
    await leaving.running(50);
    const queued = await create("brief", 200);
    await eventually("work is buffered", async () => await heldByWorkers(server) >= 80);

    const terminatedAt = performance.now();
    await leaving.signal("SIGTERM");
    await staying.tell({ what: "start" });
    for (const ref of [...brief, ...polite, ...deaf, ...queued]) {
      const { state, job } = await ref.wait({ timeoutMs: 60_000 }).orThrow();
      assert.equal(state, "completed");
      assert.equal(job.result?.tries, 1);
    }
    assert.ok(performance.now() - terminatedAt < 20_000, "work came back at once");
    const { code, signal } = await leaving.status;
    assert.deepEqual({ code, signal }, { code: 0, signal: null });

    const history = await readHistory(server.url);
    assert.deepEqual(allProblems(history), []);
    for (const { id } of brief) {
      assert.equal(startsBy(history.get(id), "staying"), 0);
    }
    for (const { id } of [...polite, ...deaf]) {
      const told = history.get(id)?.events.map(({ eventType }) => eventType);
      assert.deepEqual(told, ["created", "started", "retry", "started", "completed"]);
      assert.equal(startsBy(history.get(id), "staying"), 1);
    }
    for (const { id } of queued) {
      assert.equal(startsBy(history.get(id), "leaving"), 0);
      assert.equal(startsBy(history.get(id), "staying"), 1);
      assert.equal(countOf(history.get(id), "retry"), 0);
    }
    // What was only buffered did not wait until the others had had their time.
    const lastBuffered = Math.max(
      ...queued.map(({ id }) => history.get(id)?.sequences.at(-1) ?? 0),
    );
    const firstHandedBack = Math.min(...deaf.map(({ id }) => history.get(id)?.sequences[2] ?? 0));
    assert.ok(lastBuffered < firstHandedBack, `${lastBuffered} < ${firstHandedBack}`);
    await eventually("nothing is held", async () => await heldByWorkers(server) === 0);
  },
);
