import { startNatsServer } from "../../testing/mod.ts";
import { loadThroughDeaths } from "../keyed_load.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `keyed queues keep their promises: 2 services × 3 processes, 5,000 jobs of 200 keys, kills [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      await loadThroughDeaths(server, {
        services: [{ name: "one-at-a-time", maxActive: 1 }, { name: "three", maxActive: 3 }],
        processesEach: 3,
        keys: 200,
        jobs: 5_000,
        kills: 12,
        withinMs: 240_000,
      });
    },
  );
}
