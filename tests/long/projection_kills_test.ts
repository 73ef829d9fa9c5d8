import assert from "node:assert/strict";
import { startNatsServer } from "../../testing/mod.ts";
import { projectThroughKills } from "../projection_kills.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `startProjector() killed at random 50 times during 20,000 jobs gives the fold of the stream, row by row [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      const inTheMiddle = await projectThroughKills(server, { jobs: 20_000, kills: 50 });
      assert.ok(inTheMiddle >= 10, `${inTheMiddle} kills came in the middle of work`);
    },
  );
}
