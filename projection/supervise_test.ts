import assert from "node:assert/strict";
import { supervise } from "./supervise.ts";

Deno.test("supervise() starts again what fails, and shows it until it has got somewhere", async () => {
  const healthy = Promise.withResolvers<void>();
  let runs = 0;
  await using loop = supervise({
    async run({ signal, progressed }) {
      if (++runs < 3) throw new Error(`failure ${runs}`);
      assert.equal(loop.health().state, "failing");
      progressed();
      healthy.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    clock: () => 0,
  });
  await healthy.promise;
  assert.deepEqual(loop.health(), {
    state: "running",
    failures: 2,
    lastError: "failure 2",
    lastErrorAt: "1970-01-01T00:00:00.000Z",
  });
  await loop.stop();
  assert.equal(loop.health().state, "stopped");
});

Deno.test("supervise() stops at once also while it waits to start again", async () => {
  const failed = Promise.withResolvers<void>();
  const loop = supervise({
    run: () => Promise.reject(new Error("no")),
    onFailure: () => failed.resolve(),
  });
  await failed.promise;
  await loop.stop();
  assert.equal(loop.health().failures, 1);
});
