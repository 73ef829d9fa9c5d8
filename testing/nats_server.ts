import { poll } from "./_poll.ts";
import { untilPaused } from "./_paused.ts";
import { type ClusterRoutes, placesIn } from "./_server_arguments.ts";
import { createServerFolder, type ServerFolder } from "./_server_folder.ts";
import { readLogTail } from "./_server_log.ts";
import { PortTakenError, type ServerProcess, spawnServer } from "./_server_process.ts";

/**
 * A real nats-server on loopback that belongs to this process.
 *
 * Calls take effect one after the other, in the order they are made.
 */
export interface NatsServer extends AsyncDisposable {
  /** The name by which a cluster knows the server. */
  readonly name: string;
  /** What a client connects to, for example `nats://127.0.0.1:23456`. */
  readonly url: string;
  /** The port in {@linkcode NatsServer.url}; the same after every restart. */
  readonly port: number;
  /** The number of the process that runs, or that ran last. */
  readonly pid: number;
  /** Whether the process runs; a paused one does. */
  readonly running: boolean;
  /** The server's version, for example `2.15.1`. */
  readonly version: string;
  /** The temporary folder that JetStream stores in. */
  readonly storeDir: string;
  /** The address of `/jsz`, `/healthz` and the like, without a slash; another after a restart. */
  readonly monitoringUrl: string;
  /** The end of the server's log, at most 64 KiB, over all restarts. */
  log(): string;
  /**
   * Ends the process and keeps the store: with SIGKILL like a crash, with SIGTERM in good order.
   * Resolves when the process is gone.
   */
  kill(signal?: "SIGKILL" | "SIGTERM"): Promise<void>;
  /**
   * Starts the process again on the same port and store, and resolves when it accepts clients. A
   * server that still runs is ended in good order first.
   */
  restart(): Promise<void>;
  /** Freezes the process (SIGSTOP): connections stay open and nothing answers. Not on Windows. */
  pause(): Promise<void>;
  /** Lets a paused process go on (SIGCONT). */
  resume(): Promise<void>;
  /** Ends the process in good order and removes its folders; doing it again does nothing. */
  stop(): Promise<void>;
}

/** What a server is started with. */
export interface LaunchOptions {
  readonly path: string;
  readonly version: string;
  readonly name: string;
  readonly port: number;
  readonly config: string | undefined;
  readonly startTimeoutMs: number;
  readonly routes?: ClusterRoutes;
}

/** How long a restart waits for a port that someone else has for the moment. */
const portPatienceMs = 5_000;

/** Starts a server on exactly this port; throws a `PortTakenError` when another process has it. */
export async function launchServer(options: LaunchOptions): Promise<NatsServer> {
  const { path, name, config, startTimeoutMs, routes } = options;
  const folder = await createServerFolder(config);
  const settings = { name, folder: folder.path, hasConfig: config !== undefined };
  const spawn = (port: number) =>
    spawnServer({ ...settings, port, ...(routes === undefined ? {} : { routes }) }, {
      path,
      startTimeoutMs,
      onSpawn: folder.guard,
    });
  try {
    return controlServer(await spawn(options.port), spawn, folder, options);
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

function controlServer(
  first: ServerProcess,
  spawn: (port: number) => Promise<ServerProcess>,
  folder: ServerFolder,
  { name, version }: LaunchOptions,
): NatsServer {
  const { port } = first;
  const places = placesIn(folder.path);
  const inTurn = createQueue();
  let process = first;
  let logAtTheEnd: string | undefined;

  const mustExist = (action: string) => {
    if (logAtTheEnd === undefined) return;
    throw new Error(`Cannot ${action} nats-server: it was stopped and its store is gone`);
  };
  const mustRun = (action: string) => {
    if (!process.hasExited()) return;
    throw new Error(`Cannot ${action} nats-server: it does not run, process ${process.pid} ended`);
  };
  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    await process.end(signal);
    folder.guard(undefined);
  };
  const stop = () =>
    inTurn(async () => {
      if (logAtTheEnd !== undefined) return;
      await end("SIGTERM");
      logAtTheEnd = readLogTail(places.log);
      await folder.remove();
    });

  return {
    name,
    url: `nats://127.0.0.1:${port}`,
    port,
    version,
    storeDir: places.store,
    get pid() {
      return process.pid;
    },
    get running() {
      return !process.hasExited();
    },
    get monitoringUrl() {
      return process.monitoringUrl;
    },
    log: () => logAtTheEnd ?? readLogTail(places.log),
    kill: (signal = "SIGKILL") => inTurn(() => end(signal)),
    restart: () =>
      inTurn(async () => {
        mustExist("restart");
        await end("SIGTERM");
        process = await spawnOnceFree(() => spawn(port));
      }),
    pause: () =>
      inTurn(async () => {
        mustRun("pause");
        process.signal("SIGSTOP");
        await untilPaused(process.pid);
      }),
    resume: () =>
      inTurn(() => {
        mustRun("resume");
        process.signal("SIGCONT");
        return Promise.resolve();
      }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Does one thing at a time, in the order asked for, whether or not the one before it failed. */
function createQueue(): (action: () => Promise<void>) => Promise<void> {
  let last = Promise.resolve();
  return (action) => {
    const result = last.then(action);
    last = result.catch(() => {});
    return result;
  };
}

async function spawnOnceFree(spawn: () => Promise<ServerProcess>): Promise<ServerProcess> {
  let taken: unknown;
  const process = await poll(() =>
    spawn().catch((error: unknown) => {
      if (!(error instanceof PortTakenError)) throw error;
      taken = error;
      return undefined;
    }), { everyMs: 100, timeoutMs: portPatienceMs });
  if (process === undefined) throw taken;
  return process;
}
