/** Claim: when a key is released, the next in line begins within milliseconds, wherever it waits. */

import { type Figure, quantile, rounded, type Scale } from "./_figures.ts";
import { payloadOf, startWorld } from "./_world.ts";

/** From the return of a handler to the call of the next, with everyone waiting in two processes' rooms. */
export async function keyedHot(scale: Scale): Promise<Figure> {
  const handOffs = scale.quick ? 20 : 100;
  await using world = await startWorld();
  await using one = await world.keyed("bench", 10);
  await using two = await world.keyed("bench", 10);
  const times: number[] = [];
  const open = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  let returnedAt: number | undefined;
  let left = handOffs + 1;
  const handler = async () => {
    if (returnedAt !== undefined) times.push(performance.now() - returnedAt);
    await open.promise;
    // Long enough that the next is not on its way already.
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (--left === 0) done.resolve();
    returnedAt = performance.now();
  };
  for (const service of [one, two]) {
    service.jobs.noop.handle(handler);
    await service.start().orThrow();
  }
  for (let index = 0; index <= handOffs; index++) {
    await one.jobs.noop.create(payloadOf(0)).orThrow();
  }
  open.resolve();
  await done.promise;
  const [p50, p95] = [quantile(times, 0.5), quantile(times, 0.95)];
  scale.progress(`keyed-hot: p50 ${p50.toFixed(2)} ms, p95 ${p95.toFixed(2)} ms`);
  return {
    name: "keyed-hot",
    ours: rounded(p95),
    raw: null,
    ratio: null,
    range: null,
    unit: "ms p95",
    note: `p50 ${rounded(p50)} ms, most ${
      rounded(Math.max(...times))
    } ms, ${times.length} hand-offs`,
  };
}
