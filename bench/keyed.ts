/** Claim: one job at a time for each of a hundred keys costs less than half of the throughput. */

import { compare } from "./_compare.ts";
import { countCalls, untilAcknowledged } from "./drain.ts";
import type { Figure, Scale } from "./_figures.ts";
import { type BenchService, inFlight, payloadOf, startWorld } from "./_world.ts";

const KEYS = 100;
const CONCURRENCY = 100;

/**
 * Works through a full queue with keys (`ours`) and without (`raw`, which here is ours as well): the
 * same jobs, the keys taken in turn.
 */
export async function keyed(scale: Scale): Promise<Figure> {
  const jobs = scale.quick ? 500 : 2_000;
  await using world = await startWorld();
  const drain = async (service: BenchService, name: string): Promise<number> => {
    await using owned = service;
    await using watcher = await world.raw(`${name}-watch`);
    await inFlight(jobs, 100, (index) => owned.jobs.noop.create(payloadOf(index % KEYS)).orThrow());
    const { calls, handler } = countCalls(jobs);
    owned.jobs.noop.handle(handler);
    const begunAt = performance.now();
    await owned.start().orThrow();
    await calls;
    await untilAcknowledged(watcher.connection, { service: name, jobType: "noop" });
    return jobs / ((performance.now() - begunAt) / 1_000);
  };
  const figure = await compare({
    name: "keyed-100",
    unit: "jobs/s",
    kind: "rate",
    ours: async (round) => {
      const name = `bench-${round}`;
      return await drain(await world.keyed(name, CONCURRENCY), name);
    },
    raw: async (round) => {
      const name = `bench-unkeyed-${round}`;
      return await drain(await world.ours(name, CONCURRENCY), name);
    },
  }, scale);
  return {
    ...figure,
    note: `${jobs / KEYS} jobs of each of ${KEYS} keys; raw is the same unkeyed`,
  };
}
