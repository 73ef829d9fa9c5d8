/** Jobs run while the projector, a process of its own, is killed again and again. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { eventually } from "./job_processes.ts";
import {
  assertCountedOnce,
  assertIsFold,
  newestPlace,
  runJobs,
  startShop,
  temporaryFolder,
} from "./projection_world.ts";

/** How much, and how often. */
export interface KillOptions {
  readonly jobs: number;
  readonly kills: number;
}

const SCRIPT = new URL("./projection_process.ts", import.meta.url).pathname;
/** Some twenty steps of the projector: it dies before, in or after any of them. */
const LONGEST_LIFE_MS = 20;

/**
 * Runs a share of the jobs with each process, which dies a random while after its first step; at the
 * end a last one catches up, and the rows must be the fold of the stream. Gives how many died before
 * they had caught up.
 */
export async function projectThroughKills(
  server: NatsServer,
  { jobs, kills }: KillOptions,
): Promise<number> {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "jobs.sqlite");
  await using service = await startShop(server.url);
  await using store = openSqliteStore({ path });
  const share = Math.ceil(jobs / kills);
  let inTheMiddle = 0;
  for (let kill = 0; kill < kills; kill++) {
    const running = runJobs(service, share);
    const process = startProcess(server.url, path, Math.random() * LONGEST_LIFE_MS);
    assert.equal((await process.status).signal, "SIGKILL");
    if ((await store.position()).sequence < await newestPlace(server.url)) inTheMiddle++;
    await running;
  }
  const last = startProcess(server.url, path);
  const place = await newestPlace(server.url);
  await eventually(
    "the last projector has caught up",
    async () => (await store.position()).sequence >= place,
  );
  last.kill("SIGKILL");
  await last.status;
  assert.equal(await assertIsFold(server.url, store), share * kills);
  // Rows forgive an event that is folded twice; counts do not.
  await assertCountedOnce(server.url, store);
  return inTheMiddle;
}

function startProcess(url: string, path: string, lifeMs?: number): Deno.ChildProcess {
  // A batch of its own each time, so that cuts fall everywhere.
  const batch = String(1 + Math.floor(Math.random() * 50));
  const life = lifeMs === undefined ? [] : [String(lifeMs)];
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", SCRIPT, url, path, batch, ...life],
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
}
