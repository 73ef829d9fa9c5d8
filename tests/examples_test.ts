import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";

const FOLDER = new URL("../examples/", import.meta.url);

/** What each example must print, line by line. */
const EXPECTED: Record<string, readonly RegExp[]> = {
  "quick_start.ts": [/^completed: charge-of-o-1$/],
  "retries.ts": [
    /^fine: completed after 1 of 3 tries \(no error\)$/,
    /^flaky: completed after 2 of 3 tries \(the connection broke\)$/,
    /^busy: completed after 2 of 3 tries \(greylisted\)$/,
    /^closed: completed after 1 of 3 tries \(snoozed for 100 ms\)$/,
    /^nobody: failed after 1 of 3 tries \(there is no such mailbox\)$/,
    /^down: dead after 3 of 3 tries \(the server is down\)$/,
    /^replayed: pending with 0 tries used$/,
  ],
  "cancel.ts": [
    /^the handler was told: cancelled$/,
    /^never: cancelled by ann, 0 tries$/,
    /^long: cancelled by ann, 1 tries$/,
    /^cancelling again gives the job as it ended: cancelled$/,
  ],
  "progress_and_logs.ts": [
    /^progress: 3 of 3 pages$/,
    /^log: wrote 3 pages$/,
    /^result: 3000 bytes$/,
  ],
  "graceful_shutdown.ts": [
    /^long: completed by second, tries counted: 1$/,
    /^long: completed by second, tries counted: 1$/,
    /^short: completed by first, tries counted: 1$/,
    /^short: completed by first, tries counted: 1$/,
  ],
  "operator.ts": [
    /^dead: \{"to":"ann@example\.org"\} \(the mail server is down\)$/,
    /^dead: \{"to":"bob@example\.org"\} \(the mail server is down\)$/,
    /^replayed 2, refused 0$/,
    /^created → started → dead → retried → started → completed$/,
    /^created → started → dead → retried → started → completed$/,
    /^a second time: wrong_state, it is completed$/,
  ],
  "edge.ts": [
    /^rpc-only, rows shared, problems: 0$/,
    /^job cancelled, shown by the lists: true$/,
    /^jobs: 1$/,
  ],
  "bulk.ts": [
    /^created 1000 of 1001$/,
    /^refused: invalid-payload$/,
    /^all or nothing: all$/,
    /^the same key gives the same job: true$/,
    /^handled 2001$/,
  ],
  "per_customer.ts": [
    /^ann: create, rename, move, close$/,
    /^bob: create, rename, move, close$/,
    /^at most 1 at once per customer$/,
  ],
  "sync_now.ts": [
    /^accepted, accepted, coalesced, coalesced, coalesced$/,
    /^5 presses, 2 jobs, 2 syncs$/,
  ],
  "latest_wins.ts": [
    /^H: completed$/,
    /^He: skipped$/,
    /^Hel: skipped$/,
    /^Hello: completed$/,
    /^shown: H, Hello$/,
  ],
};

async function run(
  name: string,
  args: readonly string[] = [],
): Promise<{ lines: string[]; code: number }> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL(name, FOLDER).href, ...args],
    env: { NO_COLOR: "1" },
    signal: AbortSignal.timeout(60_000),
  });
  const { code, stdout } = await command.output();
  return { code, lines: new TextDecoder().decode(stdout).trimEnd().split("\n") };
}

for (const [name, expected] of Object.entries(EXPECTED)) {
  Deno.test(`examples/${name} runs and ends by itself`, async () => {
    const { code, lines } = await run(name);
    assert.equal(code, 0);
    assert.equal(lines.length, expected.length, lines.join("\n"));
    for (const [index, line] of lines.entries()) assert.match(line, expected[index] ?? /^$/);
  });
}

Deno.test("examples/demo.ts ends by itself and sums up as JSON", async () => {
  const { code, lines } = await run("demo.ts", ["--seconds", "1"]);
  assert.equal(code, 0);
  const summary = JSON.parse(lines.at(-1) ?? "");
  assert.ok(summary.completed > 0);
  const help = await run("demo.ts", ["--help"]);
  assert.match(help.lines[0] ?? "", /^Usage: deno task demo/);
  assert.equal((await run("demo.ts", ["--seconds", "soon"])).code, 1);
});

Deno.test("every example is tested", async () => {
  const names = (await readdir(FOLDER)).filter((name) =>
    !name.startsWith("_") && name !== "demo.ts"
  );
  assert.deepEqual(names.sort(), Object.keys(EXPECTED).sort());
});

Deno.test("README shows the quick start as it is run", async () => {
  const readme = await readFile(new URL("../README.md", FOLDER), "utf8");
  const source = await readFile(new URL("quick_start.ts", FOLDER), "utf8");
  const shown = source.split("// README: from here\n")[1]?.split("// README: to here")[0] ?? "";
  const asShown = shown.replace("{ servers: server.url }", '{ servers: "nats://127.0.0.1:4222" }')
    .replace("say(", "console.log(");
  assert.ok(readme.includes(asShown.trim()), "README and examples/quick_start.ts differ");
});
