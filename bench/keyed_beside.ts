/** Claim: a key whose line is full to the ceiling does not slow the others down by half. */

import { MAX_QUEUED_PER_KEY } from "../protocol/mod.ts";
import { compare } from "./_compare.ts";
import type { Figure, Scale } from "./_figures.ts";
import { inFlight, payloadOf, startWorld } from "./_world.ts";

const OTHERS = 200;
const HOT = OTHERS;

/** Jobs of 200 keys, created and worked off beside a key that is held and full (`ours`), or not (`raw`). */
export async function keyedBeside(scale: Scale): Promise<Figure> {
  const [jobs, waiting] = scale.quick ? [400, 100] : [2_000, MAX_QUEUED_PER_KEY];
  await using world = await startWorld();
  const measure = async (name: string, hot: boolean): Promise<number> => {
    await using service = await world.keyed(name, 50);
    const open = Promise.withResolvers<void>();
    let left = jobs;
    const done = Promise.withResolvers<void>();
    service.jobs.noop.handle(async ({ job }) => {
      if (job.payload.cents === HOT) await open.promise;
      else if (--left === 0) done.resolve();
    });
    await service.start().orThrow();
    if (hot) {
      const line = Array.from({ length: waiting }, () => payloadOf(HOT));
      for (const created of await service.jobs.noop.createMany(line)) {
        if (!created.ok) throw created.error;
      }
    }
    const begunAt = performance.now();
    await inFlight(
      jobs,
      50,
      (index) => service.jobs.noop.create(payloadOf(index % OTHERS)).orThrow(),
    );
    await done.promise;
    const rate = jobs / ((performance.now() - begunAt) / 1_000);
    // What waits stays behind: this server is thrown away.
    open.resolve();
    return rate;
  };
  const figure = await compare({
    name: "keyed-beside",
    unit: "jobs/s",
    kind: "rate",
    ours: (round) => measure(`bench-hot-${round}`, true),
    raw: (round) => measure(`bench-${round}`, false),
  }, { ...scale, repeats: Math.min(scale.repeats, 5) });
  return {
    ...figure,
    note: `${OTHERS} keys beside one with ${waiting} in line; raw is without it`,
  };
}
