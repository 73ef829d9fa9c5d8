import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AptSource,
  chooseDebianMirror,
  formatSource,
  parseListFile,
  parseSourcesFile,
} from "./_apt_sources.ts";
import { type Environment, findExecutable, runCommand } from "./_run_command.ts";

/** What fetching the package needs. */
export interface DebianPackageOptions {
  readonly suite: string;
  /** The folder that the package is unpacked into. */
  readonly into: string;
  readonly environment: Environment;
  /** Told once, when the machine turns out to be one that can be asked. */
  readonly onFetch: () => void;
}

/**
 * Unpacks the suite's nats-server and resolves to the binary's path; throws with the reason when
 * this machine or its mirror does not have one.
 *
 * The mirror and its keyring are the machine's own, so apt checks the signatures as always; its
 * lists and caches go to a temporary folder, so nothing of the machine's apt changes and no
 * privileges are needed.
 */
export async function fetchDebianPackage(options: DebianPackageOptions): Promise<string> {
  const { suite, into, environment, onFetch } = options;
  const aptGet = findExecutable("apt-get", environment);
  const dpkg = findExecutable("dpkg", environment);
  if (aptGet === undefined || dpkg === undefined) throw new Error("apt-get and dpkg are not here");
  const mirror = chooseDebianMirror(await readAptSources("/etc/apt"));
  if (mirror === undefined) throw new Error("the apt sources name no mirror of the Debian archive");
  onFetch();

  const folder = await mkdtemp(join(tmpdir(), "trellis-apt-"));
  try {
    // apt downloads as a user of its own when it is run by root; that user has to get in.
    await chmod(folder, 0o755);
    const configuration = await prepareApt(folder, formatSource(mirror, suite));
    const downloads = join(folder, "downloads");
    for (const command of [["update"], ["download", "nats-server"]]) {
      const result = await runCommand(aptGet, ["-q", "-c", configuration, ...command], {
        workingFolder: downloads,
        environment: { ...environment, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
      });
      if (!result.succeeded) {
        throw new Error(`apt-get ${command[0]} failed: ${complaintsOf(result.output)}`);
      }
    }
    const archive = (await readdir(downloads)).find((name) => name.endsWith(".deb"));
    if (archive === undefined) throw new Error("apt-get download left no package");
    const unpacked = await runCommand(dpkg, ["-x", join(downloads, archive), into]);
    if (!unpacked.succeeded) throw new Error(`dpkg -x failed: ${complaintsOf(unpacked.output)}`);
    return join(into, "usr", "sbin", "nats-server");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function prepareApt(folder: string, source: string): Promise<string> {
  await mkdir(join(folder, "lists", "partial"), { recursive: true });
  await mkdir(join(folder, "cache", "archives", "partial"), { recursive: true });
  await mkdir(join(folder, "downloads"));
  await writeFile(join(folder, "status"), "");
  await writeFile(join(folder, "wanted.sources"), source);
  const configuration = join(folder, "apt.conf");
  await writeFile(configuration, aptConfiguration(folder));
  return configuration;
}

/**
 * The machine's settings stay (proxies are among them), except those that would run its hooks or
 * choose another version: hooks, pins, the default release, and what is installed already.
 */
function aptConfiguration(folder: string): string {
  return `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Dir::Etc::sourcelist "${folder}/wanted.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "${folder}/lists";
Dir::State::status "${folder}/status";
Dir::Cache "${folder}/cache";
`;
}

async function readAptSources(folder: string): Promise<AptSource[]> {
  const parts = await readdir(join(folder, "sources.list.d")).catch(() => []);
  const paths = ["sources.list", ...parts.toSorted().map((name) => join("sources.list.d", name))];
  const sources = await Promise.all(paths.map(async (path) => {
    const text = await readFile(join(folder, path), "utf8").catch(() => "");
    if (path.endsWith(".sources")) return parseSourcesFile(text);
    return path.endsWith(".list") ? parseListFile(text) : [];
  }));
  return sources.flat();
}

/** apt says much; what went wrong stands in the lines that begin with `E:`. */
function complaintsOf(output: string): string {
  const lines = output.trim().split("\n");
  const errors = lines.filter((line) => line.startsWith("E:"));
  return (errors.length > 0 ? errors : lines.slice(-3)).join("; ");
}
