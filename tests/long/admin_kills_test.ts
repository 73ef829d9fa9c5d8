import { startNatsServer } from "../../testing/mod.ts";
import { surviveKills } from "../admin_kills.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `the admin is killed 50 times during 20,000 jobs: its rows are the fold of the stream [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      await surviveKills(server, { jobs: 20_000, kills: 50, mostMs: 1_000 });
    },
  );
}
