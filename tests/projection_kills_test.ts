import assert from "node:assert/strict";
import { projectThroughKills } from "./projection_kills.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "startProjector() killed at random six times gives the fold of the stream, row by row",
  async (server) => {
    const inTheMiddle = await projectThroughKills(server, { jobs: 1_200, kills: 6 });
    assert.ok(inTheMiddle > 0, "no kill came in the middle of work");
  },
);
