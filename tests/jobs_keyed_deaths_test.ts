import { loadThroughDeaths } from "./keyed_load.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "handle() in processes that are killed keeps the promises of keyed queues: 300 jobs of 20 keys",
  (server) =>
    loadThroughDeaths(server, {
      services: [{ name: "crm", maxActive: 1 }],
      processesEach: 2,
      keys: 20,
      jobs: 300,
      kills: 2,
      withinMs: 40_000,
    }),
);
