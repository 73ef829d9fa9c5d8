import { surviveKills } from "./admin_kills.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "the admin is killed while jobs run: its rows are the fold of the stream",
  async (server) => {
    await surviveKills(server, { jobs: 500, kills: 3, mostMs: 300 });
  },
);
