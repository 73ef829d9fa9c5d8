/** An admin that is killed again and again while jobs run. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { startAdminProcess } from "./admin_process.ts";
import { startTestAdmin } from "./admin_world.ts";
import { assertIsFold, runJobs, startShop, temporaryFolder } from "./projection_world.ts";

/** Kills the admin so often while so many jobs run; then its rows must be the fold of the stream. */
export async function surviveKills(
  server: NatsServer,
  { jobs, kills, mostMs }: {
    readonly jobs: number;
    readonly kills: number;
    readonly mostMs: number;
  },
): Promise<void> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "jobs.sqlite");
  await using service = await startShop(server.url);
  let over = false;
  const killing = (async () => {
    for (let kill = 0; kill < kills; kill++) {
      await using admin = startAdminProcess(["--servers", server.url, "--database", path]);
      await admin.said(/ready on port/);
      // At a random moment, not when something in particular has happened: that is the point.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * mostMs));
      await admin.end("SIGKILL");
    }
    over = true;
  })();
  for (let done = 0; done < jobs || !over;) {
    const some = Math.min(Math.max(jobs - done, 1), 500);
    await runJobs(service, some);
    done += some;
  }
  await killing;
  {
    await using world = await startTestAdmin(server.url, { path });
    await world.caughtUp();
  }
  await using store = openSqliteStore({ path });
  assert.ok(await assertIsFold(server.url, store) >= jobs);
}
