import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";

const library = new URL("../testing/mod.ts", import.meta.url).href;

interface Started {
  readonly port: number;
  readonly storeDir: string;
}

/** Runs a Deno process that starts a server, prints where it is, and then does as told. */
async function startElsewhere(then: string): Promise<{ child: ChildProcess; started: Started }> {
  const code = `import { startNatsServer } from ${JSON.stringify(library)};
    const { port, storeDir } = await startNatsServer();
    console.log(JSON.stringify({ port, storeDir }));
    ${then}`;
  const child = spawn(Deno.execPath(), ["eval", code], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  const started: Started = JSON.parse(String(line));
  return { child, started };
}

/** Resolves when the server neither listens nor has a folder; fails after ten seconds. */
async function untilGone({ port, storeDir }: Started): Promise<void> {
  const endsAt = performance.now() + 10_000;
  while (existsSync(dirname(storeDir)) || await isListening(port)) {
    assert.ok(performance.now() < endsAt, `the server on port ${port} outlived its parent`);
    await delay(20);
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ port, host: "127.0.0.1" });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

Deno.test({
  name: "startNatsServer() leaves nothing behind when its process is SIGKILLed",
  ignore: process.platform === "win32",
  async fn() {
    const { child, started } = await startElsewhere("setInterval(() => {}, 1000);");
    assert.ok(await isListening(started.port));
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    await untilGone(started);
  },
});

for (const [way, then] of [["ends by itself", ""], ["calls exit", "Deno.exit(0);"]] as const) {
  Deno.test(`startNatsServer() neither holds nor outlives a process that ${way}`, async () => {
    const { child, started } = await startElsewhere(then);
    if (child.exitCode === null) await once(child, "exit");
    assert.equal(child.exitCode, 0);
    await untilGone(started);
  });
}
