/** Claim: a worker's memory does not grow with the jobs that it has done. */

import process from "node:process";
import { type Figure, median, rounded, type Scale } from "./_figures.ts";
import { inFlight, payloadOf, startWorld } from "./_world.ts";

interface Sample {
  readonly rss: number;
  readonly heap: number;
}

const MEGABYTE = 1024 * 1024;

/** Creates and works off many jobs in this process and compares the first third with the last. */
export async function memory(scale: Scale): Promise<Figure> {
  const [jobs, batch] = scale.quick ? [20_000, 1_000] : [300_000, 5_000];
  await using world = await startWorld();
  await using service = await world.ours("bench", 100);
  let handled = 0;
  let announce: () => void = () => {};
  service.jobs.noop.handle(() => {
    if (++handled % batch === 0) announce();
  });
  await service.start().orThrow();
  const samples: Sample[] = [];
  for (let done = 0; done < jobs; done += batch) {
    const worked = new Promise<void>((resolve) => announce = resolve);
    await inFlight(batch, 100, (index) => service.jobs.noop.create(payloadOf(index)).orThrow());
    await worked;
    const { rss, heapUsed } = process.memoryUsage();
    samples.push({ rss: rss / MEGABYTE, heap: heapUsed / MEGABYTE });
    if (samples.length % 10 === 0) {
      scale.progress(`memory: ${handled} jobs, RSS ${Math.round(rss / MEGABYTE)} MB`);
    }
  }
  const third = Math.floor(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const rss = { first: median(first.map((s) => s.rss)), last: median(last.map((s) => s.rss)) };
  const heap = { first: median(first.map((s) => s.heap)), last: median(last.map((s) => s.heap)) };
  return {
    name: "memory",
    ours: rounded(rss.last),
    raw: null,
    ratio: null,
    range: null,
    unit: "MB RSS",
    note: `${jobs} jobs, first → last third: RSS ${rss.first.toFixed(0)} → ${rss.last.toFixed(0)}` +
      ` MB, heap ${heap.first.toFixed(1)} → ${heap.last.toFixed(1)} MB`,
  };
}
