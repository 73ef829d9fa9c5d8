import assert from "node:assert/strict";
import fc from "fast-check";
import { createWorld } from "./keys_model.ts";

/** Whole numbers by chance, the same for the same seed. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}

const worlds = fc.record({
  seed: fc.integer(),
  options: fc.record({
    maxActive: fc.integer({ min: 1, max: 3 }),
    maxQueuedPerKey: fc.integer({ min: 0, max: 6 }),
    whenFull: fc.constantFrom("reject", "coalesce", "replace-oldest"),
    workers: fc.integer({ min: 1, max: 4 }),
    jobs: fc.integer({ min: 1, max: 25 }),
    ttlIntervals: fc.constantFrom(2, 6),
    skews: fc.array(fc.integer({ min: -450, max: 450 }), { minLength: 4, maxLength: 4 }),
  }),
});

const RUNS = Number(Deno.env.get("TRELLIS_MODEL_RUNS") ?? 400);

Deno.test("keys: whatever dies when, the limits hold, every job ends and the key is free again", () => {
  fc.assert(
    fc.property(worlds, ({ seed, options }) => {
      const { world, chaos, settle, createAlone } = createWorld(options, chanceOf(seed));
      for (let step = 0; step < 1_500; step++) {
        chaos();
        assert.deepEqual(world.problems, [], `step ${step}`);
      }
      settle(3_000);
      assert.deepEqual(world.problems, []);
      assert.deepEqual(world.messages, [], "work is left over");
      const unfinished = [...world.jobs].filter(([, fate]) => fate.kind !== "ended");
      assert.deepEqual(unfinished, [], "jobs that never end");
      world.now += 40_000;
      assert.ok(createAlone(), "the key stays locked");
    }),
    { numRuns: RUNS },
  );
});

Deno.test("keys: in peace the first to be admitted is the first to run", () => {
  fc.assert(
    fc.property(worlds, ({ seed, options }) => {
      const peaceful = { ...options, maxActive: 1, maxQueuedPerKey: 25, peaceful: true } as const;
      const { world, chaos, settle } = createWorld(peaceful, chanceOf(seed));
      for (let step = 0; step < 2_000; step++) chaos();
      settle(1_000);
      assert.deepEqual(world.problems, []);
      const begun = new Set(world.starts);
      assert.deepEqual(world.starts, world.reserved.filter((jobId) => begun.has(jobId)));
      assert.deepEqual(world.entry.state, undefined, "an entry that says nothing is kept");
    }),
    { numRuns: RUNS },
  );
});
