/** Many jobs, made and worked on while the server dies and comes back. */

import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { connectService, type QueueRef, type Service, type ServiceDefinition } from "../mod.ts";
import { eventFilter, JOBS_STREAM, valueOrThrow, WORK_STREAM } from "../protocol/mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { allProblems, readHistory } from "./history.ts";
import { defineWork, eventually, startWorkerProcess } from "./job_processes.ts";

type Queues = ReturnType<typeof defineWork> extends ServiceDefinition<infer Q> ? Q : never;
type WorkRef = QueueRef<Queues["work"]>;

/** How much, and when the server dies. */
export interface LoadOptions {
  /** Jobs to create. */
  readonly jobs: number;
  /** Kills of the server, spread evenly over the creating. */
  readonly kills: number;
}

const IN_FLIGHT = 50;

/**
 * Creates jobs while two processes work on them and the server is killed again and again; fails
 * unless every job that was said to be created completes, with a legal history.
 */
export async function loadThroughKills(server: NatsServer, options: LoadOptions): Promise<void> {
  const queue = { ackWaitMs: 2_000, concurrency: 20, maxDeliver: 50 };
  await using service = await connectService(defineWork(queue), {
    servers: server.url,
    instanceId: "here",
  }).orThrow();
  service.jobs.work.handle(({ job }) => ({ by: "here", tries: job.tries }));
  await service.start().orThrow();
  await using elsewhere = await startWorkerProcess({
    url: server.url,
    instanceId: "elsewhere",
    mode: "finish",
    queue,
  });
  await elsewhere.tell({ what: "start" });
  await elsewhere.heard("started");

  const { created, unconfirmed, waits } = await createThroughKills(server, service, options);
  // Nobody is left in doubt: writes are repeated for longer than the server is ever away here.
  assert.deepEqual([...unconfirmed], []);
  assert.equal(waits.length, options.kills * IN_FLIGHT);
  for (const state of await Promise.all(waits)) assert.equal(state, "completed");
  await untilWorkedOff(server, created.size);

  const history = await readHistory(server.url);
  assert.deepEqual(allProblems(history), []);
  for (const jobId of created) assert.equal(history.get(jobId)?.job?.state, "completed", jobId);
  assert.deepEqual(new Set(history.keys()), created);
  // Nobody's loop ended on the way; one that still waits for a lost answer takes part soon.
  await eventually("both workers work again", async () => {
    const more = await service.jobs.work.createMany(Array(100).fill({ how: "quick" }));
    const ends = await Promise.all(more.map(async (result) => {
      return await valueOrThrow(result).wait({ timeoutMs: 60_000 }).orThrow();
    }));
    return new Set(ends.map(({ job }) => job.result?.by)).size === 2;
  });
}

async function createThroughKills(
  server: NatsServer,
  service: Service<Queues, object>,
  { jobs, kills }: LoadOptions,
): Promise<{ created: Set<string>; unconfirmed: Set<string>; waits: Promise<string>[] }> {
  const created = new Set<string>();
  const unconfirmed = new Set<string>();
  const waits: Promise<string>[] = [];
  const newest: WorkRef[] = [];
  let asked = 0;
  let killed = 0;
  let restarting = Promise.resolve();
  const killNow = () => {
    killed++;
    for (const ref of newest.splice(0).slice(-IN_FLIGHT)) {
      waits.push(ref.wait({ timeoutMs: 120_000 }).orThrow().then(({ state }) => state));
    }
    restarting = restarting.then(() => server.kill()).then(() => server.restart());
  };
  const createInTurn = async () => {
    while (asked++ < jobs) {
      const result = await service.jobs.work.create({ how: "quick" });
      if (result.ok) {
        created.add(result.value.id);
        newest.push(result.value);
        if (killed < kills && created.size >= (jobs * (killed + 1)) / (kills + 1)) killNow();
      } else {
        assert.equal(result.error.reason, "unconfirmed", result.error.message);
        unconfirmed.add(result.error.jobId ?? "");
      }
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, createInTurn));
  await restarting;
  assert.equal(killed, kills);
  return { created, unconfirmed, waits };
}

async function untilWorkedOff(server: NatsServer, count: number): Promise<void> {
  await using nc = await connect({ servers: server.url });
  const { streams } = await jetstreamManager(nc);
  await eventually("all work is done", async () => {
    if ((await streams.info(WORK_STREAM)).state.messages > 0) return false;
    const { state } = await streams.info(JOBS_STREAM, {
      subjects_filter: eventFilter("completed"),
    });
    return Object.keys(state.subjects ?? {}).length >= count;
  });
}
