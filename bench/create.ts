/** Claim: creating a job costs little more than storing its event by hand. */

import { compare } from "./_compare.ts";
import type { Figure, Scale } from "./_figures.ts";
import { inFlight, payloadOf, startWorld } from "./_world.ts";

/** One create awaited after another. */
export function createOne(scale: Scale): Promise<Figure> {
  return measureCreate("create-one", 1, scale.quick ? 500 : 5_000, scale);
}

/** A hundred creates in flight. */
export function createHundred(scale: Scale): Promise<Figure> {
  return measureCreate("create-100", 100, scale.quick ? 2_000 : 20_000, scale);
}

async function measureCreate(
  name: string,
  width: number,
  count: number,
  scale: Scale,
): Promise<Figure> {
  await using world = await startWorld();
  await using ours = await world.ours("bench");
  await using raw = await world.raw("bench-raw");
  const rate = async (task: (index: number) => Promise<unknown>): Promise<number> => {
    const begunAt = performance.now();
    await inFlight(count, width, task);
    return count / ((performance.now() - begunAt) / 1_000);
  };
  return await compare({
    name,
    unit: "jobs/s",
    kind: "rate",
    ours: () => rate((index) => ours.jobs.noop.create(payloadOf(index)).orThrow()),
    raw: () => rate((index) => raw.create(index)),
  }, scale);
}
