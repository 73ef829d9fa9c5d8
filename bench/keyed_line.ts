/** Claim: a job that waits in line costs microseconds each time somebody before it begins or ends. */

import { KEYS_BUCKET, keyStateKey } from "../protocol/mod.ts";
import { readEntry } from "../nats/mod.ts";
import { type Figure, median, rounded, type Scale } from "./_figures.ts";
import { type BenchService, payloadOf, startWorld, type World } from "./_world.ts";

const LENGTHS = [0, 100, 500, 1_000];
const QUICK_LENGTHS = [0, 50];

/** The time of one create of a key with a long line: its entry is read, decided on and written anew. */
export async function keyedLine(scale: Scale): Promise<Figure> {
  const lengths = scale.quick ? QUICK_LENGTHS : LENGTHS;
  const samples = scale.quick ? 3 : 30;
  await using world = await startWorld();
  const medians: number[] = [];
  let bytes = 0;
  for (const length of lengths) {
    await using service = await world.keyed(`bench-${length}`, 1);
    const payload = payloadOf(0);
    const line = Array.from({ length: Math.max(length - samples, 0) }, () => payload);
    await service.jobs.noop.createMany(line);
    const times: number[] = [];
    for (let sample = 0; sample < Math.min(samples, Math.max(length, 1)); sample++) {
      const begunAt = performance.now();
      await service.jobs.noop.create(payload).orThrow();
      times.push(performance.now() - begunAt);
    }
    medians.push(median(times));
    bytes = await entryBytes(world, service, `bench-${length}`);
    scale.progress(`keyed-line: ${length} in line, ${median(times).toFixed(2)} ms`);
  }
  const longest = lengths.at(-1) ?? 1;
  const perEntry = ((medians.at(-1) ?? 0) - (medians[0] ?? 0)) * 1_000 / longest;
  const told = lengths.map((length, at) => `${length}: ${rounded(medians[at] ?? 0)}`).join(", ");
  return {
    name: "keyed-line",
    ours: rounded(perEntry),
    raw: null,
    ratio: null,
    range: null,
    unit: "µs/entry",
    note: `create in ms by length of line, ${told}; ${Math.round(bytes / longest)} bytes per entry`,
  };
}

async function entryBytes(world: World, service: BenchService, name: string): Promise<number> {
  const view = await service.jobs.noop.viewKey(payloadOf(0)).orThrow();
  await using raw = await world.raw(`${name}-look`);
  const key = keyStateKey({ service: name, jobType: "noop" }, view?.keyHash ?? "");
  const options = { giveUpAt: Date.now() + 5_000 };
  return (await readEntry(raw.connection, KEYS_BUCKET, key, options)).value?.length ?? 0;
}
