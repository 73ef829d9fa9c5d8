/** The admin as a process of its own, so that it can be killed while the test lives on. */

import { pickPorts } from "../testing/_ports.ts";
import { readLines } from "./job_processes.ts";

/** A running `deno task admin`. */
export interface AdminProcess extends AsyncDisposable {
  /** Where it answers. */
  readonly url: string;
  /** Everything it has said. */
  readonly lines: readonly string[];
  /** Resolves with the first line that fits; fails when that takes too long. */
  said(what: RegExp, waitMs?: number): Promise<string>;
  /** How it ended. */
  readonly status: Promise<Deno.CommandStatus>;
  /** Sends it a signal and waits until it is gone. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

const PATIENCE_MS = 30_000;

/** Starts the admin with these arguments; it may not be ready yet. */
export function startAdminProcess(args: readonly string[]): AdminProcess {
  const [port = 0] = pickPorts(1);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", new URL("../admin/main/main.ts", import.meta.url).pathname],
      ...["--bind", `127.0.0.1:${port}`, ...args],
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines: string[] = [];
  const listeners = new Set<() => void>();
  const hear = (line: string) => {
    lines.push(line);
    for (const listener of listeners) listener();
  };
  const hearing = Promise.all([readLines(child.stdout, hear), readLines(child.stderr, hear)]);
  let ended = false;
  const status = child.status.finally(() => ended = true);
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    if (!ended) Deno.kill(child.pid, signal);
    await Promise.all([status, hearing]);
  };
  return {
    url: `http://127.0.0.1:${port}`,
    lines,
    status,
    end,
    said: (what, waitMs = PATIENCE_MS) =>
      new Promise((resolve, reject) => {
        const look = (): boolean => {
          const line = lines.find((each) => what.test(each));
          if (line === undefined) return false;
          clearTimeout(timer);
          listeners.delete(look);
          resolve(line);
          return true;
        };
        const timer = setTimeout(() => {
          listeners.delete(look);
          reject(new Error(`Cannot wait longer for ${what}, it said:\n${lines.join("\n")}`));
        }, waitMs);
        if (!look()) listeners.add(look);
      }),
    [Symbol.asyncDispose]: () => end("SIGKILL"),
  };
}
