import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { withFetchLock } from "../testing/_fetch_lock.ts";
import { releaseAsset } from "../testing/_release_asset.ts";
import { findExecutable, runCommand } from "../testing/_run_command.ts";
import { versionWanted } from "../testing/_versions.ts";
import { findNatsServer } from "../testing/mod.ts";

const library = new URL("../testing/mod.ts", import.meta.url).href;
/** Only there can a fetch from packages be tried, and only if no nats-server is found before. */
const hasNoPackages = ["apt-get", "dpkg"].some((name) => !findExecutable(name, process.env)) ||
  findExecutable("nats-server", process.env) !== undefined;

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "trellis-fetch-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A machine with nothing but tar on its PATH, so that only the release is left. */
async function bareEnvironment(folder: string): Promise<{ [name: string]: string }> {
  const tools = join(folder, "tools");
  await mkdir(tools);
  await symlink(findExecutable("tar", process.env) ?? "", join(tools, "tar"));
  return { PATH: tools, TRELLIS_CACHE: join(folder, "cache") };
}

/** Serves files below 127.0.0.1 as a release host would. */
async function serveFiles(
  files: ReadonlyMap<string, Uint8Array>,
): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((request, response) => {
    const body = files.get(request.url ?? "");
    response.writeHead(body === undefined ? 404 : 200, { connection: "close" });
    response.end(body);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      await once(server.close(), "close");
    },
  };
}

/** Packs the real binary as the release does, and returns the files that a host would have. */
async function packRelease(folder: string): Promise<Map<string, Uint8Array>> {
  const { release } = versionWanted("newest");
  const asset = releaseAsset(release, process.platform, process.arch);
  assert.ok(asset);
  const binary = join(folder, asset.binary);
  await mkdir(join(binary, ".."));
  await copyFile((await findNatsServer()).path, binary);
  await chmod(binary, 0o755);
  const packed = await runCommand("tar", ["-czf", asset.archive, asset.binary], {
    workingFolder: folder,
  });
  assert.ok(packed.succeeded, packed.output);
  const archive = await readFile(join(folder, asset.archive));
  const sum = createHash("sha256").update(archive).digest("hex");
  return new Map<string, Uint8Array>([
    [`/v${release}/${asset.archive}`, archive],
    [`/v${release}/SHA256SUMS`, new TextEncoder().encode(`${sum}  ${asset.archive}\n`)],
  ]);
}

Deno.test({
  name: "findNatsServer() fetches the floor from Debian packages, and then has it",
  ignore: hasNoPackages,
  async fn() {
    await using folder = await temporaryFolder();
    const environment = {
      ...process.env,
      TRELLIS_CACHE: folder.path,
      TRELLIS_NATS_SERVER_FLOOR: "",
    };
    const lines: string[] = [];
    const search = { environment, onProgress: (line: string) => void lines.push(line) };
    const found = await findNatsServer("floor", search);
    assert.match(found.version, /^2\.10\./);
    assert.equal(lines[0], "Fetching nats-server (floor) from Debian packages (trixie)…");
    assert.match(lines[1] ?? "", /^nats-server 2\.10\.\d+ is ready \(\d+\.\d s\)$/);
    assert.deepEqual(await findNatsServer("floor", search), found);
    assert.equal(lines.length, 2);
    assert.equal((await readdir(folder.path)).length, 1);
  },
});

Deno.test({
  name: "findNatsServer() fetches once when two processes ask at the same time",
  ignore: hasNoPackages,
  async fn() {
    await using folder = await temporaryFolder();
    const code = `import { findNatsServer } from ${JSON.stringify(library)};
      console.log((await findNatsServer("newest")).version);`;
    const env = { ...process.env, TRELLIS_CACHE: folder.path, TRELLIS_NATS_SERVER: "" };
    const results = await Promise.all([1, 2].map(async () => {
      const child = spawn(Deno.execPath(), ["eval", code], { env });
      const exited = once(child, "exit");
      const [output, progress] = await Promise.all([text(child.stdout), text(child.stderr)]);
      await exited;
      return { output, progress };
    }));
    for (const { output, progress } of results) assert.match(output, /^2\.1[2-9]\./, progress);
    const progress = results.map((result) => result.progress).join("");
    assert.equal(progress.match(/^Fetching /gm)?.length, 1, progress);
    assert.equal((await readdir(folder.path)).length, 1);
  },
});

Deno.test("findNatsServer() fetches the release when its checksum is right", async () => {
  await using folder = await temporaryFolder();
  await using host = await serveFiles(await packRelease(folder.path));
  const environment = {
    ...await bareEnvironment(folder.path),
    TRELLIS_NATS_RELEASES: `${host.url}/`,
  };
  const lines: string[] = [];
  const found = await findNatsServer("newest", {
    environment,
    onProgress: (line) => void lines.push(line),
  });
  assert.equal(found.version, (await findNatsServer()).version);
  assert.match(lines[0] ?? "", /^Fetching nats-server \(newest\) from GitHub release/);
  assert.equal(lines.length, 2);
});

Deno.test("findNatsServer() refuses a release with a wrong checksum, or without the asset", async () => {
  await using folder = await temporaryFolder();
  const files = await packRelease(folder.path);
  const environment = await bareEnvironment(folder.path);
  const archive = [...files.keys()].find((name) => !name.endsWith("SHA256SUMS")) ?? "";
  const sums = archive.replace(/[^/]+$/, "SHA256SUMS");
  const refused = async (changed: Map<string, Uint8Array>, reason: RegExp) => {
    await using host = await serveFiles(changed);
    const search = {
      environment: { ...environment, TRELLIS_NATS_RELEASES: host.url },
      onProgress: () => {},
    };
    await assert.rejects(findNatsServer("newest", search), (error: Error) => {
      assert.match(error.message, /^Cannot find nats-server \(newest, 2\.12\.0 or newer\): /);
      assert.match(error.message, /PATH: there is no nats-server on it/);
      assert.match(error.message, /Debian packages \(forky\): apt-get and dpkg are not here/);
      assert.match(error.message, reason);
      assert.match(error.message, /or set TRELLIS_NATS_SERVER to the path of one$/);
      return true;
    });
    assert.deepEqual(await readdir(join(folder.path, "cache")), []);
  };
  await refused(
    new Map([...files, [archive, new TextEncoder().encode("something else")]]),
    /the checksum of nats-server-v\S+ is [0-9a-f]{64}, but SHA256SUMS promises [0-9a-f]{64}/,
  );
  await refused(
    new Map([...files].filter(([name]) => name !== archive)),
    /nats-server-v\S+ answered with status 404/,
  );
  await refused(
    new Map([...files, [sums, new TextEncoder().encode("")]]),
    /SHA256SUMS does not list nats-server-v/,
  );
  await refused(new Map(), /SHA256SUMS answered with status 404/);
});

Deno.test("findNatsServer() uses the binary that a variable names, or says that it cannot", async () => {
  await using folder = await temporaryFolder();
  const { path, version } = await findNatsServer("newest");
  const named = { TRELLIS_NATS_SERVER_FLOOR: path };
  assert.deepEqual(await findNatsServer("floor", { environment: named }), { path, version });

  const broken = join(folder.path, "broken");
  await writeFile(broken, "not a program");
  for (const wrong of [broken, join(folder.path, "missing")]) {
    await assert.rejects(
      findNatsServer("newest", { environment: { ...process.env, TRELLIS_NATS_SERVER: wrong } }),
      (error: Error) =>
        error.message.startsWith(
          `Cannot run the nats-server that TRELLIS_NATS_SERVER names: ${wrong} --version said "`,
        ),
    );
  }
});

Deno.test("findNatsServer() passes by a nats-server on PATH that does not fit", async () => {
  await using folder = await temporaryFolder();
  const environment = await bareEnvironment(folder.path);
  await symlink((await findNatsServer("newest")).path, join(folder.path, "tools", "nats-server"));
  assert.equal(
    (await findNatsServer("newest", { environment })).path,
    join(folder.path, "tools", "nats-server"),
  );
  await assert.rejects(
    findNatsServer("floor", {
      environment: { ...environment, TRELLIS_NATS_RELEASES: "http://127.0.0.1:1" },
      onProgress: () => {},
    }),
    /PATH: \S+\/nats-server is version 2\.1[2-9]\.[^]+cannot be reached/,
  );
});

Deno.test("withFetchLock() lets one in at a time and takes over from the dead", async () => {
  await using folder = await temporaryFolder();
  const lock = join(folder.path, "lock");
  const order: string[] = [];
  const entered = Promise.withResolvers<void>();
  const first = Promise.withResolvers<void>();
  const waiting = Promise.withResolvers<void>();
  const one = withFetchLock(lock, async () => {
    entered.resolve();
    await first.promise;
    order.push("one");
  });
  await entered.promise;
  const two = withFetchLock(lock, () => Promise.resolve(order.push("two")), {
    onWait: waiting.resolve,
  });
  await waiting.promise;
  first.resolve();
  await Promise.all([one, two]);
  assert.deepEqual(order, ["one", "two"]);

  await writeFile(lock, "1\n");
  const longAgo = new Date(Date.now() - 60_000);
  await utimes(lock, longAgo, longAgo);
  const onWait = () => assert.fail("a dead holder's lock was waited for");
  assert.equal(await withFetchLock(lock, () => Promise.resolve("done"), { onWait }), "done");
  assert.deepEqual(await readdir(folder.path), []);

  await writeFile(lock, "1\n");
  assert.equal(await withFetchLock(lock, () => Promise.resolve("late"), { waitMs: 0 }), "late");
});
