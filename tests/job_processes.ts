/** Workers and clients as processes of their own, so that one can die while the test lives on. */

import { z } from "zod";
import { defineJobs, type QueueOptions, type ServiceDefinition } from "../mod.ts";

const workPayload = z.object({ how: z.enum(["quick", "brief", "polite", "deaf"]) });
const workResult = z.object({ by: z.string(), tries: z.number() });
type WorkQueue = { payload: typeof workPayload; result: typeof workResult } & QueueOptions;

/** What a process is started with, as one argument. */
export const settingsSchema = z.object({
  url: z.string(),
  instanceId: z.string(),
  /** What the handler does with jobs that are not quick. */
  mode: z.enum(["finish", "hold", "die"]),
  workMs: z.number().default(0),
  drainMs: z.number().default(30_000),
  queue: z.object({
    maxDeliver: z.number().optional(),
    ackWaitMs: z.number().optional(),
    concurrency: z.number().optional(),
  }),
  /** The keyed queue of a process that has one. */
  keyed: z.object({
    service: z.string().default("crm"),
    ackWaitMs: z.number().default(2_000),
    concurrency: z.number().default(10),
    maxActive: z.number().default(1),
    maxQueuedPerKey: z.number().default(100),
    heartbeatIntervalMs: z.number().optional(),
    heartbeatTtlMs: z.number().optional(),
    stalePolicy: z.enum(["fail-stale", "block"]).default("fail-stale"),
    /** The process kills itself when it is about to do this. */
    dieBefore: z.enum(["created", "answer", "started", "release", "ack"]).optional(),
  }).prefault({}),
});
/** What a process may be told. */
export const commandSchema = z.object({
  what: z.enum(["start", "create", "release", "wait", "abort"]),
  jobId: z.string().default(""),
  timeoutMs: z.number().optional(),
});
const saidSchema = z.object({
  what: z.string(),
  jobId: z.string().default(""),
  outcome: z.string().default(""),
});

/** What a process says, one line each. */
export type Said = z.output<typeof saidSchema>;
/** What a process is started with. */
export type Settings = z.input<typeof settingsSchema>;
/** What a process is told, one line each. */
export type Command = z.input<typeof commandSchema>;

/** The one queue that all these processes know. */
export function defineWork(
  { maxDeliver, ackWaitMs, concurrency }: z.output<typeof settingsSchema>["queue"] = {},
): ServiceDefinition<{ work: WorkQueue }> {
  const options = {
    ...(maxDeliver !== undefined && { maxDeliver }),
    ...(ackWaitMs !== undefined && { ackWaitMs }),
    ...(concurrency !== undefined && { concurrency }),
  };
  return defineJobs("shop", { work: { payload: workPayload, result: workResult, ...options } });
}

/** A process that belongs to a test; it is killed by its own number when the test is over. */
export interface JobProcess extends AsyncDisposable {
  /** How it ended. */
  readonly status: Promise<Deno.CommandStatus>;
  /** The jobs it has said this about, in order. */
  jobs(what: string): string[];
  /** Resolves with the first thing said that fits; fails when that takes too long. */
  heard(what: string, jobId?: string): Promise<Said>;
  /** Resolves when it has begun so many jobs. */
  running(count: number): Promise<void>;
  /** Tells it something. */
  tell(command: Command): Promise<void>;
  /** Sends it a signal; after SIGTERM nothing more is told, so that it can end by itself. */
  signal(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** Freezes it, or lets it go on. */
  freeze(signal: "SIGSTOP" | "SIGCONT"): void;
}

const PATIENCE_MS = 60_000;

/** Starts a worker; it connects and says `ready`, and pulls work when it is told to `start`. */
export function startWorkerProcess(settings: Settings): Promise<JobProcess> {
  return startProcess("./jobs_process_worker.ts", settings);
}

/** Starts a worker of a keyed queue, or a client that creates one job of it, and may die on the way. */
export function startKeyedProcess(settings: Omit<Settings, "queue">): Promise<JobProcess> {
  return startProcess("./keyed_process.ts", { ...settings, queue: {} });
}

/** Starts a client that only waits for jobs, and knows nothing of them but their ids. */
export function startWaiterProcess(url: string): Promise<JobProcess> {
  const settings: Settings = { url, instanceId: "waiter", mode: "finish", queue: {} };
  return startProcess("./jobs_process_waiter.ts", settings);
}

async function startProcess(script: string, settings: Settings): Promise<JobProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", new URL(script, import.meta.url).pathname, JSON.stringify(settings)],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const said: Said[] = [];
  const listeners = new Set<() => void>();
  const input = child.stdin.getWriter();
  const closeInput = () => input.close().catch(() => {});
  let ended = false;
  const status = child.status.finally(() => ended = true);
  const hearing = readLines(child.stdout, (line) => {
    said.push(saidSchema.parse(JSON.parse(line)));
    for (const listener of listeners) listener();
  });
  const until = <Found>(what: string, find: () => Found | undefined): Promise<Found> =>
    new Promise((resolve, reject) => {
      const done = (): boolean => {
        const found = find();
        if (found === undefined) return false;
        clearTimeout(timer);
        listeners.delete(done);
        resolve(found);
        return true;
      };
      const timer = setTimeout(() => {
        listeners.delete(done);
        reject(new Error(`Cannot wait longer for ${settings.instanceId} to say ${what}`));
      }, PATIENCE_MS);
      if (!done()) listeners.add(done);
    });
  const process: JobProcess = {
    status,
    jobs: (what) => said.filter((line) => line.what === what).map(({ jobId }) => jobId),
    heard: (what, jobId) =>
      until(
        what,
        () => said.find((line) => line.what === what && (jobId ?? line.jobId) === line.jobId),
      ),
    running: async (count) => {
      await until(`${count} running`, () => process.jobs("running").length >= count || undefined);
    },
    tell: (command) => input.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`)),
    async signal(signal) {
      if (!ended) Deno.kill(child.pid, signal);
      await closeInput();
    },
    freeze: (signal) => Deno.kill(child.pid, signal),
    async [Symbol.asyncDispose]() {
      await process.signal("SIGKILL");
      await Promise.all([status, hearing]);
    },
  };
  try {
    await process.heard("ready");
  } catch (error) {
    await process[Symbol.asyncDispose]();
    throw error;
  }
  return process;
}

/** Asks again until something holds; fails when that takes too long. */
export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  while (!await holds()) {
    if (performance.now() > giveUpAt) throw new Error(`Cannot wait longer until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The child's side: its settings, its voice and what it is told. Ends when its parent is gone. */
export function openChild(
  obey: (command: z.output<typeof commandSchema>) => void,
): { settings: z.output<typeof settingsSchema>; say: (line: z.input<typeof saidSchema>) => void } {
  const parent = Deno.ppid;
  Deno.unrefTimer(setInterval(() => {
    if (Deno.ppid !== parent) Deno.exit(1);
  }, 500));
  void readLines(Deno.stdin.readable, (line) => obey(commandSchema.parse(JSON.parse(line))));
  const settings = settingsSchema.parse(JSON.parse(Deno.args[0] ?? ""));
  const encoder = new TextEncoder();
  // At once, so that a process that kills itself has said what it did before.
  const say = (line: z.input<typeof saidSchema>) =>
    void Deno.stdout.writeSync(encoder.encode(`${JSON.stringify(line)}\n`));
  return { settings, say };
}

/** Takes what a stream says, line by line. */
export async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
  }
}
