import { constants } from "node:fs";
import { access, lstat, mkdir } from "node:fs/promises";
import { posix, win32 } from "node:path";
import process from "node:process";
import type { Environment } from "./_run_command.ts";

/** What decides where fetched binaries are kept. */
export interface CachePlace {
  readonly platform: string;
  readonly environment: Environment;
  readonly homeFolder: string | undefined;
  readonly temporaryFolder: string;
  /** Keeps users apart in the temporary folder, which they share. */
  readonly user: string;
}

/** A folder that binaries may be kept in. */
export interface CacheCandidate {
  readonly path: string;
  /** Others can create it first: what is in it may only be run when it is our own. */
  readonly shared: boolean;
}

/**
 * Lists the cache folders to try, best first: `TRELLIS_CACHE` and no other, or else the user's
 * cache folder and, for users whose home is missing or cannot be written, a temporary one.
 */
export function cacheCandidates(place: CachePlace): CacheCandidate[] {
  const { environment, platform, temporaryFolder, user } = place;
  const { join } = platform === "win32" ? win32 : posix;
  if (environment["TRELLIS_CACHE"]) return [{ path: environment["TRELLIS_CACHE"], shared: false }];
  const userFolder = userCacheFolder(place);
  const temporary = { path: join(temporaryFolder, `trellis-jobs-${user}`), shared: true };
  if (userFolder === undefined) return [temporary];
  return [{ path: join(userFolder, "trellis-jobs"), shared: false }, temporary];
}

function userCacheFolder({ environment, homeFolder, platform }: CachePlace): string | undefined {
  if (environment["XDG_CACHE_HOME"]) return environment["XDG_CACHE_HOME"];
  if (platform === "win32" && environment["LOCALAPPDATA"]) return environment["LOCALAPPDATA"];
  if (homeFolder === undefined) return undefined;
  if (platform === "win32") return win32.join(homeFolder, "AppData", "Local");
  return posix.join(homeFolder, ...(platform === "darwin" ? ["Library", "Caches"] : [".cache"]));
}

/** Whether a binary found in the folder may be run. */
export async function isTrusted(candidate: CacheCandidate): Promise<boolean> {
  if (!candidate.shared) return true;
  const status = await lstat(candidate.path).catch(() => undefined);
  const owner = process.getuid?.();
  return status !== undefined && status.isDirectory() &&
    (owner === undefined || (status.uid === owner && (status.mode & 0o022) === 0));
}

/** Creates the first of the folders that can be written to; throws when none can. */
export async function openCacheFolder(candidates: readonly CacheCandidate[]): Promise<string> {
  for (const candidate of candidates) {
    try {
      await mkdir(candidate.path, { recursive: true, mode: 0o700 });
      await access(candidate.path, constants.W_OK);
      if (await isTrusted(candidate)) return candidate.path;
    } catch {
      // The next one may be better; if none is, the error below names them all.
    }
  }
  const paths = candidates.map(({ path }) => path).join(", ");
  throw new Error(`no cache folder can be written (${paths})`);
}
