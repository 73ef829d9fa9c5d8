/** A file for a benchmark's rows, gone when it is over. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder and gives the path of a file in it. */
export async function databaseFile(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "trellis-bench-"));
  return {
    path: join(folder, "jobs.sqlite"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
