/** Many jobs of many keys in many processes that are killed again and again, and what must hold. */

import assert from "node:assert/strict";
import { connectNats, type JobEvent } from "../mod.ts";
import type { NatsServer } from "../testing/mod.ts";
import { allProblems, type JobHistory, readHistory } from "./history.ts";
import { type JobProcess, startKeyedProcess } from "./job_processes.ts";
import { within } from "./job_service.ts";
import { connectSync, type SyncService, untilKey } from "./keyed_service.ts";
import { openReferee, type Referee } from "./referee.ts";

/** How much, and how often a process dies. */
export interface KeyedLoad {
  /** Services, each with processes of its own. */
  readonly services: readonly { readonly name: string; readonly maxActive: number }[];
  readonly processesEach: number;
  readonly keys: number;
  readonly jobs: number;
  /** Kills in all; each process comes back. */
  readonly kills: number;
  /** How long everything may take. */
  readonly withinMs: number;
}

/** Runs the load; fails unless all that is promised of keyed queues held. */
export async function loadThroughDeaths(server: NatsServer, load: KeyedLoad): Promise<void> {
  await using connection = await connectNats({ servers: server.url });
  using referee = openReferee(connection);
  const share = { ...load, jobs: load.jobs / load.services.length };
  await Promise.all(load.services.map(async ({ name, maxActive }) => {
    const options = { service: name, ackWaitMs: 2_000, keys: { maxActive } };
    await using service = await connectSync(server, options);
    await loadOne(server, service, name, maxActive, share, referee);
    const most = referee.most(name);
    assert.ok(most > 0 && most <= maxActive, `${most} of a key ran at once`);
  }));
  const history = await readHistory(server.url);
  assert.deepEqual(allProblems(history), []);
  for (const { name, maxActive } of load.services) {
    const own = new Map([...history].filter(([, { job }]) => job?.service === name));
    assert.equal(own.size, load.jobs / load.services.length);
    for (const { job } of own.values()) assert.equal(job?.state, "completed", job?.id);
    assert.equal(mostAtOnce(own) <= maxActive, true, "the stream says so too");
    if (maxActive === 1) assert.deepEqual(outOfOrder(own), []);
  }
}

async function loadOne(
  server: NatsServer,
  service: SyncService,
  name: string,
  maxActive: number,
  { keys, jobs, kills, processesEach, withinMs }: KeyedLoad,
  referee: Referee,
): Promise<void> {
  let born = 0;
  const start = async (): Promise<[string, JobProcess]> => {
    const instanceId = `${name}-${born++}`;
    const keyed = { service: name, maxActive, ackWaitMs: 2_000 };
    const settings = { url: server.url, instanceId, mode: "finish", workMs: 10, keyed } as const;
    const process = await startKeyedProcess(settings);
    await process.tell({ what: "start" });
    return [instanceId, process];
  };
  const living = new Map(await Promise.all(Array.from({ length: processesEach }, start)));
  try {
    const refs = [];
    const deaths: Promise<void>[] = [];
    const dieAndComeBack = async () => {
      const [victim] = [...living].toSorted(() => Math.random() - 0.5);
      if (victim === undefined) return;
      const [instanceId, process] = victim;
      living.delete(instanceId);
      await process[Symbol.asyncDispose]();
      referee.forget(instanceId);
      living.set(...await start());
    };
    for (let n = 0; n < jobs; n++) {
      const customer = `k${n % keys}`;
      refs.push(await createWhenThereIsRoom(service, { customer, n }));
      if ((n + 1) % Math.ceil(jobs / (kills + 1)) === 0) deaths.push(dieAndComeBack());
    }
    await Promise.all(deaths);
    const ends = refs.map((ref) => ref.wait({ timeoutMs: withinMs }).orThrow());
    const states = await within("end of all jobs", Promise.all(ends), withinMs);
    assert.deepEqual(new Set(states.map(({ state }) => state)), new Set(["completed"]));
    for (let key = 0; key < keys; key++) {
      // An entry that is gone neither locks its key nor grows for ever.
      await untilKey(service, `k${key}`, "empty key", (view) => view === undefined);
    }
  } finally {
    await Promise.all([...living.values()].map((process) => process[Symbol.asyncDispose]()));
  }
}

async function createWhenThereIsRoom(
  { jobs: { sync } }: SyncService,
  payload: { customer: string; n: number },
) {
  for (;;) {
    const created = await sync.create(payload);
    if (created.ok) return created.value;
    assert.equal(created.error.reason, "queue-depth", created.error.message);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The most jobs of one key that were active at once, by the order of the stream. */
function mostAtOnce(history: ReadonlyMap<string, JobHistory>): number {
  const events = [...history.values()].flatMap((job) =>
    job.events.map((event, at) => ({
      event,
      sequence: job.sequences[at] ?? 0,
      key: job.job?.concurrency?.keyHash ?? "",
    }))
  ).toSorted((a, b) => a.sequence - b.sequence);
  const active = new Map<string, Set<string>>();
  let most = 0;
  for (const { event, key } of events) {
    const jobs = active.get(key) ?? new Set();
    active.set(key, jobs);
    if (event.state === "active") jobs.add(event.jobId);
    else jobs.delete(event.jobId);
    most = Math.max(most, jobs.size);
  }
  return most;
}

/** Pairs of jobs of a key that were both delivered once, and began in another order than they came. */
function outOfOrder(history: ReadonlyMap<string, JobHistory>): string[] {
  const begun = [...history.values()].flatMap(({ events, sequences, job }) => {
    const at = events.findIndex(({ eventType }) => eventType === "started");
    const key = job?.concurrency?.key ?? "";
    return deliveriesOf(events) === 1 ? [{ key, n: numberOf(events), at: sequences[at] ?? 0 }] : [];
  }).toSorted((a, b) => a.at - b.at);
  const last = new Map<string, number>();
  return begun.flatMap(({ key, n }) => {
    const before = last.get(key) ?? -1;
    last.set(key, Math.max(before, n));
    return n < before ? [`${key}: ${n} after ${before}`] : [];
  });
}

function deliveriesOf(events: readonly JobEvent[]): unknown {
  const end = events.find((event) => event.eventType === "completed");
  const result = end?.eventType === "completed" ? end.result : undefined;
  return typeof result === "object" && result !== null && "deliveries" in result &&
    result.deliveries;
}

function numberOf([created]: readonly JobEvent[]): number {
  const payload = created?.eventType === "created" ? created.payload : undefined;
  return typeof payload === "object" && payload !== null && "n" in payload ? Number(payload.n) : -1;
}
