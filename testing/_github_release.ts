import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { checksumOf, releaseAsset } from "./_release_asset.ts";
import { type Environment, findExecutable, runCommand } from "./_run_command.ts";

/** What fetching the release needs. */
export interface GitHubReleaseOptions {
  readonly version: string;
  /** The folder that the archive is unpacked into. */
  readonly into: string;
  readonly environment: Environment;
  /** Told once, when there is a release for this platform. */
  readonly onFetch: () => void;
}

const releases = "https://github.com/nats-io/nats-server/releases/download";
const downloadTimeoutMs = 120_000;

/**
 * Unpacks a release of nats-server and resolves to the binary's path; throws with the reason when
 * it cannot be had or is not what the release's SHA256SUMS promise.
 *
 * `TRELLIS_NATS_RELEASES` names a mirror with the same layout (`<base>/v2.15.1/SHA256SUMS`).
 */
export async function fetchGitHubRelease(options: GitHubReleaseOptions): Promise<string> {
  const { version, into, environment, onFetch } = options;
  const asset = releaseAsset(version, process.platform, process.arch);
  if (asset === undefined) {
    throw new Error(`there is no release for ${process.platform} on ${process.arch}`);
  }
  const tar = findExecutable("tar", environment);
  if (tar === undefined) throw new Error("tar, which unpacks the release, is not on PATH");
  onFetch();

  const base = (environment["TRELLIS_NATS_RELEASES"] || releases).replace(/\/+$/, "");
  const sums = new TextDecoder().decode(await download(`${base}/v${version}/SHA256SUMS`));
  const promised = checksumOf(asset.archive, sums);
  if (promised === undefined) throw new Error(`SHA256SUMS does not list ${asset.archive}`);
  const archive = await download(`${base}/v${version}/${asset.archive}`);
  const actual = createHash("sha256").update(archive).digest("hex");
  if (actual !== promised) {
    throw new Error(
      `the checksum of ${asset.archive} is ${actual}, but SHA256SUMS promises ${promised}`,
    );
  }

  await writeFile(join(into, asset.archive), archive);
  // A relative name, because tar takes the colon of a Windows path for a host.
  const unpacked = await runCommand(tar, ["-xf", asset.archive], { workingFolder: into });
  if (!unpacked.succeeded) throw new Error(`tar failed: ${unpacked.output.trim()}`);
  return join(into, asset.binary);
}

async function download(url: string): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(downloadTimeoutMs);
  const response = await fetch(url, { signal }).catch((error: unknown) => {
    throw new Error(`${url} cannot be reached (${reasonOf(error)})`);
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${url} answered with status ${response.status}`);
  }
  return new Uint8Array(await response.arrayBuffer());
}

/** Node hides the reason of a failed fetch in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
