import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..");
const LONGEST_FILE = 400;

/** What each room may import: rooms by folder, packages by name. Tests may import anything. */
const ROOMS: Record<string, { rooms: readonly string[]; packages: readonly string[] }> = {
  protocol: { rooms: [], packages: ["zod"] },
  nats: {
    rooms: ["protocol"],
    packages: ["zod", "@nats-io/transport-node"],
  },
  jobs: { rooms: ["protocol", "nats"], packages: ["@opentelemetry/api", "ulid"] },
  projection: { rooms: ["protocol", "nats"], packages: [] },
  keys: { rooms: ["protocol", "nats"], packages: ["zod"] },
  // The admin stands above the others: rows become lists for people, and people's wishes commands.
  admin: {
    rooms: ["protocol", "nats", "jobs", "keys", "projection"],
    packages: ["zod", "hono", "jose", "commander"],
  },
  testing: { rooms: [], packages: [] },
};

/** Files that may reach the machine: everything else runs at the edge too. */
const MAY_USE_NODE = /^(testing\/|projection\/sqlite\/|projection\/_?conformance|admin\/main\/)/;

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
}

async function sourceFiles(): Promise<SourceFile[]> {
  const entries = await readdir(ROOT, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !/(^|\/)(node_modules|\.git|\.cache)\//.test(path));
  return await Promise.all(paths.map(async (path) => ({
    path,
    room: path.includes("/") ? path.slice(0, path.indexOf("/")) : "",
    text: await readFile(join(ROOT, path), "utf8"),
  })));
}

/** Specifiers of imports and exports; JSDoc examples are comments and do not count. */
function specifiers(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
  return [...code.matchAll(/(?<!["\w])(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) =>
    match[1] ?? ""
  );
}

function isTest(path: string): boolean {
  return path.endsWith("_test.ts") || path.startsWith("tests/");
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : parts[0] ?? "";
}

/** Says what is wrong with an import of a room's file, or `undefined`. */
function importProblem({ path, room }: SourceFile, specifier: string): string | undefined {
  const allowed = ROOMS[room];
  if (allowed === undefined) return undefined;
  if (specifier.startsWith("node:")) {
    return MAY_USE_NODE.test(path) ? undefined : `${path} uses ${specifier}`;
  }
  if (!specifier.startsWith(".")) {
    return allowed.packages.includes(packageOf(specifier))
      ? undefined
      : `${path} uses ${specifier}`;
  }
  const target = join(dirname(path), specifier).replaceAll("\\", "/");
  const targetRoom = target.slice(0, target.indexOf("/"));
  if (targetRoom !== room && !allowed.rooms.includes(targetRoom)) {
    return `${path} reaches into ${target}`;
  }
  const isPrivate = target.slice(target.lastIndexOf("/") + 1).startsWith("_");
  return isPrivate && dirname(target) !== dirname(path)
    ? `${path} uses private ${target}`
    : undefined;
}

Deno.test("rooms import only what they may", async () => {
  const problems = (await sourceFiles()).filter(({ path }) => !isTest(path)).flatMap((file) =>
    specifiers(file.text).map((specifier) => importProblem(file, specifier)).filter(Boolean)
  );
  assert.deepEqual(problems, []);
});

Deno.test("importProblem() sees what is forbidden", () => {
  const file = { path: "protocol/x.ts", room: "protocol", text: "" };
  assert.match(importProblem(file, "../nats/mod.ts") ?? "", /reaches into/);
  assert.match(importProblem(file, "node:fs") ?? "", /uses node:fs/);
  assert.match(importProblem(file, "@nats-io/nats-core") ?? "", /uses @nats-io/);
  const nats = { path: "nats/x.ts", room: "nats", text: "" };
  assert.match(importProblem(nats, "../protocol/_fields.ts") ?? "", /private/);
  const edge = { path: "projection/projector.ts", room: "projection", text: "" };
  assert.match(importProblem(edge, "node:sqlite") ?? "", /uses node:sqlite/);
  assert.equal(importProblem(nats, "../protocol/mod.ts"), undefined);
});

Deno.test("the projection reaches its SQLite store by its own entry alone", async () => {
  const inside = (await sourceFiles()).filter(({ path, text }) =>
    path.startsWith("projection/") && !path.startsWith("projection/sqlite/") && !isTest(path) &&
    specifiers(text).some((specifier) => specifier.includes("sqlite"))
  );
  assert.deepEqual(inside.map(({ path }) => path), []);
});

Deno.test(`no file is longer than ${LONGEST_FILE} lines`, async () => {
  const long = (await sourceFiles()).filter(({ text }) =>
    text.split("\n").length > LONGEST_FILE + 1
  );
  assert.deepEqual(long.map(({ path }) => path), []);
});

Deno.test("every room with files has its rule", async () => {
  const open = ["", "tests", "examples", "bench", "design"];
  const rooms = new Set(
    (await sourceFiles()).map(({ room }) => room).filter((room) => !open.includes(room)),
  );
  assert.deepEqual([...rooms].sort(), Object.keys(ROOMS).sort());
});

Deno.test("subjects are built in one place", async () => {
  const literal = /["`](trellis\.(jobs|work)\.|\$KV\.|\$JS\.EVENT)/;
  const files = (await sourceFiles()).filter(({ path, text }) =>
    !isTest(path) && path !== "protocol/subjects.ts" &&
    literal.test(text.replaceAll(/\/\*[\s\S]*?\*\//g, ""))
  );
  assert.deepEqual(files.map(({ path }) => path), []);
});

interface ModuleGraph {
  readonly roots: readonly string[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly isDynamic?: boolean;
      readonly code?: { readonly specifier?: string };
    }[];
  }[];
}

/** Everything that an entry loads before anything is called. */
async function loadedBy(entry: string): Promise<string[]> {
  const info = new Deno.Command(Deno.execPath(), { args: ["info", "--json", join(ROOT, entry)] });
  const graph: ModuleGraph = JSON.parse(new TextDecoder().decode((await info.output()).stdout));
  const modules = new Map(graph.modules.map((module) => [module.specifier, module]));
  const loaded = new Set<string>();
  const load = (specifier: string) => {
    const target = graph.redirects[specifier] ?? specifier;
    if (loaded.has(target)) return;
    loaded.add(target);
    for (const { isDynamic, code } of modules.get(target)?.dependencies ?? []) {
      if (isDynamic !== true && code?.specifier !== undefined) load(code.specifier);
    }
  };
  graph.roots.forEach(load);
  return [...loaded];
}

Deno.test("the admin loads nothing that the edge has not: no Node API, no TCP transport", async () => {
  const loaded = await loadedBy("admin/mod.ts");
  assert.ok(loaded.some((specifier) => specifier.endsWith("/admin/http/app.ts")));
  assert.deepEqual(loaded.filter((specifier) => /^node:|transport-node/.test(specifier)), []);
  const reached = (await sourceFiles()).filter(({ path, text }) =>
    path.startsWith("admin/") && !path.startsWith("admin/main/") && /\bDeno\./.test(text)
  );
  assert.deepEqual(reached.map(({ path }) => path), []);
});
