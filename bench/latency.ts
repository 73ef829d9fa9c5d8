/** Claim: on an idle queue a job reaches its handler about as soon as by hand. */

import { compare } from "./_compare.ts";
import { type Figure, median, type Scale } from "./_figures.ts";
import { startRawWorker } from "./_raw_worker.ts";
import { payloadOf, startWorld } from "./_world.ts";

/** Between two jobs the queue is idle for so long: the first has ended, and nothing is under way. */
const IDLE_MS = 3;

/** From the call of create to the call of the handler, one job at a time. */
export async function latency(scale: Scale): Promise<Figure> {
  const samples = scale.quick ? 50 : 300;
  await using world = await startWorld();
  await using ours = await world.ours("bench", 1);
  await using raw = await world.raw("bench-raw");
  let called: () => void = () => {};
  const handler = () => called();
  ours.jobs.noop.handle(handler);
  await ours.start().orThrow();
  const { connection, publisher, queue } = raw;
  await world.makeConsumer(queue, 1);
  const stop = startRawWorker({ connection, publisher, queue, concurrency: 1, handler });

  const measure = async (create: (index: number) => Promise<unknown>): Promise<number> => {
    const times: number[] = [];
    for (let index = 0; index < samples; index++) {
      const handled = new Promise<number>((resolve) => called = () => resolve(performance.now()));
      const begunAt = performance.now();
      const created = create(index);
      times.push(await handled - begunAt);
      await created;
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    }
    return median(times);
  };
  const figure = await compare({
    name: "latency",
    unit: "ms p50",
    kind: "time",
    ours: () => measure((index) => ours.jobs.noop.create(payloadOf(index)).orThrow()),
    raw: () => measure((index) => raw.create(index)),
  }, scale);
  stop();
  return figure;
}
