import assert from "node:assert/strict";
import { bucketStream, KEYS_BUCKET, valueOrThrow } from "../../mod.ts";
import { startNatsCluster } from "../../testing/mod.ts";
import { within } from "../job_service.ts";
import {
  acquisition,
  admission,
  connectKeys,
  keyOf,
  provisioned,
  writtenHistory,
} from "../keys_world.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `turns: a line moves on over three replicas, also when their leader dies [${version}]`,
    async () => {
      await using cluster = await startNatsCluster({ version });
      const [first] = cluster.servers;
      assert.ok(first);
      await provisioned(first);
      await using crowd = new AsyncDisposableStack();
      const policy = { maxQueuedPerKey: 100, heartbeatIntervalMs: 10_000, heartbeatTtlMs: 120_000 };
      const processes = await Promise.all(
        cluster.servers.map(async (server) =>
          crowd.use(
            await connectKeys(server, writtenHistory(), policy, { servers: [...cluster.urls] }),
          )
        ),
      );
      const [one] = processes;
      assert.ok(one);
      const count = 45;
      for (let n = 0; n < count; n++) valueOrThrow(await one.keys.admit(admission(n)));
      const order: number[] = [];
      const handOffs: number[] = [];
      let running = 0;
      let freedAt = performance.now();
      const never = new AbortController().signal;
      const leader = await cluster.leaderOf(bucketStream(KEYS_BUCKET));
      const lived = Promise.all(Array.from({ length: count }, async (_, n) => {
        const process = processes[n % 3] ?? one;
        const taken = valueOrThrow(await process.turns.take(acquisition(n), { signal: never }));
        handOffs.push(performance.now() - freedAt);
        assert.equal(taken.kind, "acquired");
        assert.equal(++running, 1);
        order.push(n);
        if (n === 30) await leader.kill();
        running--;
        freedAt = performance.now();
        valueOrThrow(await process.keys.release(keyOf(), acquisition(n)));
      }));
      await within("end of the line", lived, 90_000);
      assert.deepEqual(order, Array.from({ length: count }, (_, n) => n));
      const before = handOffs.slice(1, 30).toSorted((a, b) => a - b);
      assert.ok((before.at(-1) ?? Infinity) < 1_000, `a hand-off took ${before.at(-1)} ms`);
    },
  );
}
