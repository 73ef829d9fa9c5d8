/** Claim: working through a full queue costs little more than doing it by hand. */

import { durableName, type QueueAddress, WORK_STREAM } from "../protocol/mod.ts";
import type { Connection } from "../nats/mod.ts";
import { compare } from "./_compare.ts";
import type { Benchmark } from "./_figures.ts";
import { startRawWorker } from "./_raw_worker.ts";
import { inFlight, payloadOf, startWorld, type World } from "./_world.ts";

/** Makes the benchmark for one concurrency: jobs are there, time runs until all are acknowledged. */
export function drain(concurrency: number, count: number, quickCount: number): Benchmark {
  return async (scale) => {
    const jobs = scale.quick ? quickCount : count;
    await using world = await startWorld();
    return await compare({
      name: `drain-${concurrency}`,
      unit: "jobs/s",
      kind: "rate",
      ours: (round) => drainOurs(world, `bench-${round}`, concurrency, jobs),
      raw: (round) => drainRaw(world, `bench-raw-${round}`, concurrency, jobs),
    }, scale);
  };
}

async function drainOurs(
  world: World,
  name: string,
  concurrency: number,
  jobs: number,
): Promise<number> {
  await using service = await world.ours(name, concurrency);
  await using watcher = await world.raw(`${name}-watch`);
  const queue = { service: name, jobType: "noop" };
  await inFlight(jobs, 100, (index) => service.jobs.noop.create(payloadOf(index)).orThrow());
  await world.makeConsumer(queue, concurrency);
  const { calls, handler } = countCalls(jobs);
  service.jobs.noop.handle(handler);
  const begunAt = performance.now();
  await service.start().orThrow();
  await calls;
  await untilAcknowledged(watcher.connection, queue);
  return jobs / ((performance.now() - begunAt) / 1_000);
}

async function drainRaw(
  world: World,
  name: string,
  concurrency: number,
  jobs: number,
): Promise<number> {
  await using raw = await world.raw(name);
  await using watcher = await world.raw(`${name}-watch`);
  const { connection, publisher, queue } = raw;
  await inFlight(jobs, 100, (index) => raw.create(index));
  await world.makeConsumer(queue, concurrency);
  const { calls, handler } = countCalls(jobs);
  const begunAt = performance.now();
  // The library asks for its consumer at start; so does this.
  await world.makeConsumer(queue, concurrency);
  const stop = startRawWorker({ connection, publisher, queue, concurrency, handler });
  await calls;
  await untilAcknowledged(watcher.connection, queue);
  const rate = jobs / ((performance.now() - begunAt) / 1_000);
  stop();
  return rate;
}

/** A handler that does nothing but count, and a promise of its last call. */
export function countCalls(jobs: number): { calls: Promise<void>; handler: () => void } {
  let left = jobs;
  let announce: () => void = () => {};
  const calls = new Promise<void>((resolve) => announce = resolve);
  return {
    calls,
    handler() {
      if (--left === 0) announce();
    },
  };
}

/** A job is acknowledged only after its end is stored, so this is when all are done. */
export async function untilAcknowledged(nc: Connection, queue: QueueAddress): Promise<void> {
  const subject = `$JS.API.CONSUMER.INFO.${WORK_STREAM}.${durableName(queue)}`;
  for (;;) {
    const { data } = await nc.request(subject, "", { timeout: 5_000 });
    const info: unknown = JSON.parse(new TextDecoder().decode(data));
    if (isDone(info)) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

function isDone(info: unknown): boolean {
  return typeof info === "object" && info !== null && "num_pending" in info &&
    "num_ack_pending" in info && info.num_pending === 0 && info.num_ack_pending === 0;
}
