import { chmod, mkdtemp, rename, rm } from "node:fs/promises";
import { homedir, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { cacheCandidates, isTrusted, openCacheFolder } from "./_cache_folder.ts";
import { fetchDebianPackage } from "./_debian_packages.ts";
import { withFetchLock } from "./_fetch_lock.ts";
import { fetchGitHubRelease } from "./_github_release.ts";
import { findExecutable, runCommand } from "./_run_command.ts";
import {
  fits,
  type NatsServerVersion,
  parseVersion,
  type VersionWanted,
  versionWanted,
} from "./_versions.ts";

/** A nats-server binary that can be run. */
export interface FoundNatsServer {
  /** Where the binary is. */
  readonly path: string;
  /** What it says of itself, for example `2.15.1`. */
  readonly version: string;
}

/** How {@linkcode findNatsServer} searches. */
export interface FindNatsServerOptions {
  /** Told one line per step, only when something is fetched; written to standard error unless set. */
  readonly onProgress?: (line: string) => void;
  /** The environment variables that the search sees; those of the process unless set. */
  readonly environment?: { readonly [name: string]: string | undefined };
}

interface Search {
  readonly wanted: VersionWanted;
  readonly onProgress: (line: string) => void;
  readonly environment: { readonly [name: string]: string | undefined };
  /** Why each place searched so far was of no use, for the error in the end. */
  readonly failures: string[];
}

/**
 * Finds a nats-server of the wanted version, fetching one when the machine has none.
 *
 * It looks at `TRELLIS_NATS_SERVER` (`TRELLIS_NATS_SERVER_FLOOR` for the floor), on `PATH`, in the
 * user's cache (`TRELLIS_CACHE` moves it), and then fetches into that cache: from the Debian
 * packages of the machine's own mirror, or else from the release on GitHub, whose checksum it
 * verifies (`TRELLIS_NATS_RELEASES` names a mirror). A binary named by a variable is used whatever
 * its version is; when it cannot be run, that is an error and nothing else is tried.
 *
 * Several processes may search at once: one fetches and the others wait for it.
 */
export async function findNatsServer(
  version: NatsServerVersion = "newest",
  options: FindNatsServerOptions = {},
): Promise<FoundNatsServer> {
  const search: Search = {
    wanted: versionWanted(version),
    onProgress: options.onProgress ?? ((line) => void process.stderr.write(`${line}\n`)),
    environment: options.environment ?? process.env,
    failures: [],
  };
  return await fromVariable(search) ?? await fromPath(search) ?? await fromCache(search) ??
    await fetchIntoCache(search) ?? nothingWorked(search);
}

async function fromVariable(search: Search): Promise<FoundNatsServer | undefined> {
  const { variable } = search.wanted;
  const path = search.environment[variable];
  if (!path) return undefined;
  const answer = await askVersion(path);
  if (answer.version !== undefined) return { path, version: answer.version };
  throw new Error(
    `Cannot run the nats-server that ${variable} names: ` +
      `${path} --version said "${answer.output}"`,
  );
}

async function fromPath(search: Search): Promise<FoundNatsServer | undefined> {
  const path = findExecutable("nats-server", search.environment);
  if (path !== undefined) return await fitting(path, "PATH", search);
  search.failures.push("PATH: there is no nats-server on it");
  return undefined;
}

async function fromCache(search: Search): Promise<FoundNatsServer | undefined> {
  for (const candidate of candidatesOf(search)) {
    if (!await isTrusted(candidate)) continue;
    const found = await fitting(join(candidate.path, fileNameOf(search)), undefined, search);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function fetchIntoCache(search: Search): Promise<FoundNatsServer | undefined> {
  const { wanted, onProgress, failures } = search;
  const folder = await openCacheFolder(candidatesOf(search)).catch((error: unknown) => {
    failures.push(`cache: ${messageOf(error)}`);
    return undefined;
  });
  if (folder === undefined) return undefined;
  const onWait = () =>
    onProgress(`Waiting for a process that fetches nats-server (${wanted.name})…`);
  return await withFetchLock(join(folder, `${fileNameOf(search)}.lock`), async () => {
    // Whoever held the lock before may have done the work.
    return await fromCache(search) ?? await fetchInto(folder, search);
  }, { onWait });
}

async function fetchInto(folder: string, search: Search): Promise<FoundNatsServer | undefined> {
  const { wanted, environment, onProgress, failures } = search;
  const origins = [
    {
      name: `Debian packages (${wanted.debianSuite})`,
      fetch: fetchDebianPackage,
    },
    {
      name: `GitHub release (${wanted.release})`,
      fetch: fetchGitHubRelease,
    },
  ];
  for (const { name, fetch } of origins) {
    const startedAt = performance.now();
    // Inside the cache folder, so that the finished binary only has to be renamed.
    const into = await mkdtemp(join(folder, "incoming-"));
    const onFetch = () => onProgress(`Fetching nats-server (${wanted.name}) from ${name}…`);
    try {
      const path = await fetch({
        suite: wanted.debianSuite,
        version: wanted.release,
        into,
        environment,
        onFetch,
      });
      await chmod(path, 0o755);
      const fetched = await fitting(path, name, search);
      if (fetched === undefined) continue;
      const target = join(folder, fileNameOf(search));
      await rename(path, target);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      onProgress(`nats-server ${fetched.version} is ready (${seconds} s)`);
      return { path: target, version: fetched.version };
    } catch (error) {
      failures.push(`${name}: ${messageOf(error)}`);
    } finally {
      await rm(into, { recursive: true, force: true });
    }
  }
  return undefined;
}

/** The binary, if it runs and has the wanted version; `place` is named when it does not. */
async function fitting(
  path: string,
  place: string | undefined,
  { wanted, failures }: Search,
): Promise<FoundNatsServer | undefined> {
  const { version, output } = await askVersion(path);
  if (version !== undefined && fits(version, wanted.name)) return { path, version };
  if (place !== undefined) {
    const reason = version === undefined
      ? `is no nats-server (--version said "${output}")`
      : `is version ${version}`;
    failures.push(`${place}: ${path} ${reason}`);
  }
  return undefined;
}

async function askVersion(path: string): Promise<{ version: string | undefined; output: string }> {
  const { succeeded, output } = await runCommand(path, ["--version"], { timeoutMs: 5_000 });
  return { version: succeeded ? parseVersion(output) : undefined, output: output.trim() };
}

function nothingWorked({ wanted, failures }: Search): never {
  throw new Error(
    `Cannot find nats-server (${wanted.name}, ${wanted.range}): every place failed\n` +
      failures.map((failure) => `  - ${failure}\n`).join("") +
      `Install nats-server ${wanted.range}, or set ${wanted.variable} to the path of one`,
  );
}

function candidatesOf({ environment }: Search): ReturnType<typeof cacheCandidates> {
  return cacheCandidates({
    platform: process.platform,
    environment,
    homeFolder: environment["HOME"] || quietly(homedir),
    temporaryFolder: tmpdir(),
    user: String(process.getuid?.() ?? quietly(() => userInfo().username) ?? "user"),
  });
}

/** The pinned release is part of the name, so that a newer pin fetches anew. */
function fileNameOf({ wanted }: Search): string {
  const ending = process.platform === "win32" ? ".exe" : "";
  return `nats-server-${wanted.name}-${wanted.release}-${process.platform}-${process.arch}${ending}`;
}

/** Users without an entry in the user database make `node:os` throw. */
function quietly(look: () => string): string | undefined {
  try {
    return look() || undefined;
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
