import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import process from "node:process";
import { onProcessExit } from "./_exit_cleanup.ts";
import { poll } from "./_poll.ts";
import { placesIn, serverArguments, type ServerSettings } from "./_server_arguments.ts";
import { lastWords, readLogTail, tellsOfTakenPort } from "./_server_log.ts";

/** A nats-server process of ours. */
export interface ServerProcess {
  readonly pid: number;
  /** The port that clients connect to. */
  readonly port: number;
  /** The address of the monitoring endpoints, without a slash at the end. */
  readonly monitoringUrl: string;
  hasExited(): boolean;
  /** Signals this very process; nothing happens when it is gone. */
  signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  /** Sends the signal and resolves when the process is gone; one that lingers is killed. */
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

/** Thrown when another process has a port that this one was told to listen on. */
export class PortTakenError extends Error {
  override readonly name = "PortTakenError";
}

/** What starting a process needs besides its command line. */
export interface SpawnOptions {
  readonly path: string;
  readonly startTimeoutMs: number;
  /** Told the process number at once, before the server is ready. */
  readonly onSpawn: (pid: number) => void;
}

type Signal = "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT";

/** How long a server may take to close its files before it is killed. */
const patienceMs = 5_000;

/**
 * Starts a nats-server and resolves when it accepts clients; throws with its last words when it
 * ends before that.
 *
 * It is ready when it has written its ports file: that comes after all listeners are open, names
 * this very process, and does not depend on what a configuration does to the log.
 */
export async function spawnServer(
  settings: ServerSettings,
  { path, startTimeoutMs, onSpawn }: SpawnOptions,
): Promise<ServerProcess> {
  const places = placesIn(settings.folder);
  const child = spawnWithLog(path, serverArguments(settings), places.log);
  const { pid } = child;
  if (pid === undefined) throw new Error(`Cannot start ${path}: no process could be created`);
  onSpawn(pid);
  let hasExited = false;
  const signal = (name: Signal) => {
    if (!hasExited) signalChild(pid, name);
  };
  const forget = onProcessExit(() => signal("SIGKILL"));
  const gone = once(child, "exit").catch(() => {}).then(() => {
    hasExited = true;
    forget();
  });
  const end = async (name: "SIGKILL" | "SIGTERM") => {
    if (hasExited) return;
    // An idle child does not keep this process alive, but one that is waited for has to.
    child.ref();
    signal(name);
    // A process that was stopped takes no other signal until it goes on.
    if (name === "SIGTERM") signal("SIGCONT");
    const impatience = setTimeout(() => signal("SIGKILL"), patienceMs);
    await gone;
    clearTimeout(impatience);
  };

  const ports = await poll(
    async () => hasExited ? "none" : await readPorts(places.ports, pid),
    { everyMs: 5, timeoutMs: startTimeoutMs },
  );
  if (ports === undefined || ports === "none") {
    await end("SIGKILL");
    throw startError(
      ports === undefined
        ? `it was not ready after ${startTimeoutMs} ms`
        : `it ended with ${child.exitCode ?? child.signalCode}`,
      readLogTail(places.log),
    );
  }
  return { pid, ...ports, hasExited: () => hasExited, signal, end };
}

/** The log goes to a file: a pipe that nobody empties would stop the server one day. */
function spawnWithLog(
  path: string,
  commandArguments: readonly string[],
  logPath: string,
): ChildProcess {
  const log = openSync(logPath, "a");
  try {
    const child = spawn(path, [...commandArguments], { stdio: ["ignore", log, log] });
    // Without a listener, a binary that vanished would be an uncaught exception.
    child.on("error", () => {});
    child.unref();
    return child;
  } finally {
    closeSync(log);
  }
}

/**
 * Signals a child by its number, because Deno lets a child object be signalled only once and takes
 * a paused child for an ended one. The number stays the child's until its exit is noticed; between
 * that and our being told, there is nobody to signal.
 */
function signalChild(pid: number, name: Signal): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Reads the ports file of a process, or `undefined` while it is not written to its end. */
async function readPorts(
  folder: string,
  pid: number,
): Promise<{ port: number; monitoringUrl: string } | undefined> {
  // The name begins with that of the executable, which can be anything.
  const name = (await readdir(folder)).find((name) => name.endsWith(`_${pid}.ports`));
  if (name === undefined) return undefined;
  const text = await readFile(`${folder}/${name}`, "utf8").catch(() => "");
  const port = /"nats":\["[a-z]+:\/\/[^"]*:(\d+)"/.exec(text)?.[1];
  const monitoringUrl = /"monitoring":\["([^"]+)"/.exec(text)?.[1];
  const complete = text.trimEnd().endsWith("}");
  if (!complete || port === undefined || monitoringUrl === undefined) return undefined;
  return { port: Number(port), monitoringUrl };
}

function startError(reason: string, log: string): Error {
  const message = `Cannot start nats-server: ${reason}, and its last words were\n${lastWords(log)}`;
  return tellsOfTakenPort(log) ? new PortTakenError(message) : new Error(message);
}
