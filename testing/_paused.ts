import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { poll } from "./_poll.ts";

/**
 * Resolves when every thread of a process has stopped after SIGSTOP: the signal only asks, and a
 * thread that runs can answer one more client. Where the system does not tell (other than Linux),
 * it resolves at once.
 */
export async function untilPaused(pid: number): Promise<void> {
  if (process.platform !== "linux") return;
  await poll(async () => await allStopped(pid) ? true : undefined, {
    everyMs: 1,
    timeoutMs: 1_000,
  });
}

async function allStopped(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const states = await Promise.all(threads.map(async (thread) => {
    const status = await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8").catch(() => "");
    // The state follows the name, which stands in parentheses and may contain anything.
    return status.slice(status.lastIndexOf(")") + 2).charAt(0);
  }));
  return states.every((state) => state === "T" || state === "");
}
