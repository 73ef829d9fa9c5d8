import assert from "node:assert/strict";
import { connectService } from "../mod.ts";
import { allProblems, type JobHistory, readHistory } from "./history.ts";
import { defineWork, startWorkerProcess } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";

/** The most jobs that ran at once, by the times in their events. */
function mostAtOnce(histories: Iterable<JobHistory>): number {
  const changes = [...histories].flatMap(({ job }) => [
    { at: Date.parse(job?.startedAt ?? ""), by: 1 },
    { at: Date.parse(job?.completedAt ?? ""), by: -1 },
  ]);
  // An end and a start of the same millisecond do not overlap.
  changes.sort((a, b) => a.at - b.at || a.by - b.by);
  let running = 0;
  return Math.max(...changes.map(({ by }) => running += by));
}

testOnBothServers("start() in a second process takes its half of what waits", async (server) => {
  const queue = { concurrency: 5 };
  await using service = await connectService(defineWork(queue), { servers: server.url }).orThrow();
  const process = (instanceId: string) =>
    startWorkerProcess({ url: server.url, instanceId, mode: "finish", workMs: 200, queue });
  await using one = await process("one");
  await using two = await process("two");

  // The first has the queue to itself and could fetch everything; it must not.
  await one.tell({ what: "start" });
  await one.heard("started");
  const payloads = Array.from({ length: 60 }, () => ({ how: "polite" as const }));
  const created = await service.jobs.work.createMany(payloads);
  await one.running(5);
  await two.tell({ what: "start" });
  for (const result of created) {
    assert.ok(result.ok);
    await result.value.wait({ timeoutMs: 60_000 }).orThrow();
  }

  const history = await readHistory(server.url);
  assert.deepEqual(allProblems(history), []);
  const by = (instanceId: string) =>
    [...history.values()].filter(({ job }) => job?.instanceId === instanceId);
  const [first, second] = [by("one"), by("two")];
  assert.equal(first.length + second.length, 60);
  for (const share of [first, second]) {
    assert.ok(share.length >= 20, `one ran ${first.length} jobs, two ran ${second.length}`);
    assert.ok(mostAtOnce(share) <= 5);
  }
  assert.ok(mostAtOnce(history.values()) > 5, "both ran at the same time");
});
