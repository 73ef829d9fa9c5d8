import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onProcessExit } from "./_exit_cleanup.ts";
import { placesIn } from "./_server_arguments.ts";
import { startWatchdog } from "./_watchdog.ts";

/** The temporary folder of one server, and the promise that it is removed. */
export interface ServerFolder {
  readonly path: string;
  /** Names the process that lives in the folder, so that it does not outlive this one. */
  guard(pid: number | undefined): void;
  /** Removes the folder; no process may live in it any more. */
  remove(): Promise<void>;
}

async function makeFolder(): Promise<string> {
  const parent = tmpdir();
  try {
    return await mkdtemp(join(parent, "trellis-nats-"));
  } catch (cause) {
    throw new Error(
      `Cannot make a folder for nats-server in ${parent}: ` +
        `set TMPDIR to a folder that exists and can be written to`,
      { cause },
    );
  }
}

/**
 * Creates a server's folder with its configuration file.
 *
 * It is removed when this process ends, however it ends: by `remove()`, at an orderly exit, or by
 * the watchdog, which also ends the server.
 */
export async function createServerFolder(config: string | undefined): Promise<ServerFolder> {
  const path = await makeFolder();
  const places = placesIn(path);
  await mkdir(places.ports);
  if (config !== undefined) await writeFile(places.config, config);
  const forget = onProcessExit(() => rmSync(path, { recursive: true, force: true }));
  const watchdog = startWatchdog(path);
  return {
    path,
    guard: watchdog.guard,
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 5 });
      forget();
      await watchdog.dismiss();
    },
  };
}
