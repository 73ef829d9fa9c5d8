/** What the tests of the projection share: files of their own, projectors, and the comparison with the stream. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  connectService,
  defineJobs,
  type QueueOptions,
  type Service,
  type ServiceDefinition,
} from "../mod.ts";
import { type Connection, connectNats } from "../nats/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { type ProjectionStore, type Projector, startProjector } from "../projection/mod.ts";
import { type Job, reduce } from "../protocol/mod.ts";
import { readHistory } from "./history.ts";
import { numbered, streamState, within } from "./job_service.ts";
import { connect } from "@nats-io/transport-node";

/** A folder that goes when the test is over. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "trellis-projection-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** A projector on a store of its own, over a connection of its own. */
export interface TestProjection extends AsyncDisposable {
  readonly connection: Connection;
  readonly store: ProjectionStore;
  readonly projector: Projector;
  /** What it said. */
  readonly notes: readonly string[];
}

/** Starts a projector; in memory unless a file is given. */
export async function startProjection(
  url: string,
  { path = ":memory:", batch = 100 } = {},
): Promise<TestProjection> {
  const connection = await connectNats({ servers: url });
  const store = openSqliteStore({ path });
  const notes: string[] = [];
  const onNote = (note: string) => void notes.push(note);
  const projector = startProjector({ connection, store, batch, onNote });
  return {
    connection,
    store,
    projector,
    notes,
    async [Symbol.asyncDispose]() {
      await projector.stop();
      await store[Symbol.asyncDispose]();
      await connection.close();
    },
  };
}

/** The place of the newest event that is stored. */
export async function newestPlace(url: string): Promise<number> {
  await using nc = await connect({ servers: url });
  return (await streamState(nc, "JOBS")).last_seq;
}

/** Waits until everything that is stored now is in the rows. */
export async function caughtUp(url: string, { projector }: TestProjection): Promise<void> {
  const place = await newestPlace(url);
  assert.ok(
    await projector.waitFor(place, 30_000),
    `not at ${place}: ${JSON.stringify(projector.health())}`,
  );
}

/** Fails unless the rows are, one by one, what folding the stream gives, and the counts agree. */
export async function assertIsFold(url: string, store: ProjectionStore): Promise<number> {
  const history = await readHistory(url);
  const jobs = [...history].flatMap(([id, { job, sequences }]) =>
    job === undefined ? [] : [{ id, job, sequences }]
  );
  for (const { id, job, sequences } of jobs) {
    const found = await store.getJob(id);
    assert.deepEqual(found?.job, job);
    assert.equal(found?.firstSequence, sequences[0]);
    assert.equal(found?.lastSequence, sequences.at(-1));
  }
  const counts = new Map<string, number>();
  for (const { job } of jobs) {
    const queue = `${job.service} ${job.type} ${job.state}`;
    counts.set(queue, (counts.get(queue) ?? 0) + 1);
  }
  const found = (await store.countQueues()).map(({ service, type, state, count }) =>
    [`${service} ${type} ${state}`, count] as const
  );
  assert.deepEqual(new Map(found), counts);
  assert.equal(await store.countJobs({}), jobs.length);
  return jobs.length;
}

const NOT_COUNTED = ["progress", "logged", "heartbeat", "staleCompletionIgnored"];

/** Fails unless every event that took effect was counted once in the statistics. */
export async function assertCountedOnce(url: string, store: ProjectionStore): Promise<void> {
  const expected: Record<string, number> = {};
  for (const { events } of (await readHistory(url)).values()) {
    let job: Job | undefined;
    for (const event of events) {
      const after = reduce(job, event);
      if (after !== job && !NOT_COUNTED.includes(event.eventType)) {
        expected[event.eventType] = (expected[event.eventType] ?? 0) + 1;
      }
      job = after;
    }
  }
  const spans = await store.readStatistics({
    resolution: "hour",
    from: new Date(0).toISOString(),
    to: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const found: Record<string, number> = {};
  for (const { events } of spans) {
    for (const [type, count] of Object.entries(events)) found[type] = (found[type] ?? 0) + count;
  }
  assert.deepEqual(found, expected);
}

/** The queues of the test service. */
export type ShopQueues = { readonly work: { readonly payload: typeof numbered } & QueueOptions };

/** One queue with two tries. */
export const shop: ServiceDefinition<ShopQueues> = defineJobs("shop", {
  work: { payload: numbered, maxDeliver: 2, backoffMs: [5], concurrency: 20 },
});

/** A service whose jobs end in many ways, by their number. */
export async function startShop(url: string): Promise<Service<ShopQueues, object>> {
  const service = await connectService(shop, { servers: url }).orThrow();
  service.jobs.work.handle(async ({ job }) => {
    const kind = job.payload.n % 5;
    if (kind === 1) await job.log("info", `number ${job.payload.n}`);
    if (kind === 2) await job.progress({ current: job.payload.n });
    if (kind === 3 && job.tries === 1) throw new Error("once more");
    if (kind === 4) throw new Error("never");
  });
  await service.start().orThrow();
  return service;
}

/** Creates jobs and waits until all have ended. */
export async function runJobs(
  service: Service<ShopQueues, object>,
  count: number,
): Promise<string[]> {
  const payloads = Array.from({ length: count }, (_, n) => ({ n }));
  const created = await service.jobs.work.createMany(payloads);
  return await Promise.all(created.map(async (result) => {
    if (!result.ok) throw result.error;
    await within("end of a job", result.value.wait({ timeoutMs: 30_000 }).orThrow(), 35_000);
    return result.value.id;
  }));
}
