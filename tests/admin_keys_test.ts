import assert from "node:assert/strict";
import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { KEYS_BUCKET, keyStateKey } from "../protocol/mod.ts";
import { createPublisher, readEntry, writeEntry } from "../nats/mod.ts";
import { startTestAdmin } from "./admin_world.ts";
import { eventually } from "./job_processes.ts";
import { aborted, within } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const sync = defineJobs("crm", {
  sync: {
    payload: z.object({ customer: z.union([z.string(), z.number()]) }),
    keyConcurrency: { key: ["/customer"], stalePolicy: "block" },
    queue: { maxQueuedPerKey: 5 },
    concurrency: 5,
  },
});

testOnBothServers(
  "GetKey shows who holds and who waits; ReleaseKey takes the key, as an event",
  async (server) => {
    await using service = await connectService(sync, { servers: server.url, drainMs: 100 })
      .orThrow();
    const begun = new Map<string, PromiseWithResolvers<unknown>>();
    const begin = (id: string) => {
      const known = begun.get(id) ?? Promise.withResolvers<unknown>();
      begun.set(id, known);
      return known;
    };
    let first = true;
    service.jobs.sync.handle(async ({ job, signal }) => {
      begin(job.id).resolve(undefined);
      if (!first) return;
      first = false;
      await aborted(signal);
      throw signal.reason;
    });
    await service.start().orThrow();
    await using world = await startTestAdmin(server.url);
    const holder = await service.jobs.sync.create({ customer: 42 }).orThrow();
    await within("the first begins", begin(holder.id).promise);
    const waiter = await service.jobs.sync.create({ customer: 42 }).orThrow();
    // The same to people, another key to coordination.
    const other = await service.jobs.sync.create({ customer: "42" }).orThrow();
    await other.wait({ timeoutMs: 10_000 }).orThrow();
    await world.caughtUp();
    const queue = { service: "crm", type: "sync" };
    const { keys } = await world.http.getKey({ ...queue, key: "42" }).orThrow();
    assert.equal(keys.length, 2);
    const held = keys.find(({ holders }) => holders.length > 0);
    assert.deepEqual(held?.holders.map(({ jobId, expired }) => [jobId, expired]), [[
      holder.id,
      false,
    ]]);
    assert.deepEqual(held?.waiters.map(({ jobId }) => jobId), [waiter.id]);
    assert.deepEqual([held?.stalePolicy, held?.blocked, held?.maxActive], ["block", false, 1]);
    const keyHash = held?.keyHash ?? "";
    const byHash = await world.nats.getKey({ ...queue, keyHash }).orThrow();
    assert.deepEqual(byHash.keys.map((key) => key.keyHash), [keyHash]);
    const wrong = await world.http.releaseKey({ ...queue, keyHash, jobId: waiter.id });
    assert.equal(!wrong.ok && wrong.error.code, "not_found");

    const released = await world.nats.releaseKey({ ...queue, keyHash }).orThrow();
    assert.deepEqual(released.released, [holder.id]);
    const stale = await holder.wait({ timeoutMs: 10_000 }).orThrow();
    assert.equal(stale.state, "stale");
    assert.equal(stale.job.actor, "anonymous (NATS)");
    assert.equal((await waiter.wait({ timeoutMs: 20_000 }).orThrow()).state, "completed");
  },
);

testOnBothServers("a key entry that no live job explains is freed", async (server) => {
  await using service = await connectService(sync, { servers: server.url, drainMs: 100 }).orThrow();
  const waiting = await service.jobs.sync.create({ customer: "a" }).orThrow();
  await using world = await startTestAdmin(server.url, { pace: { reconcileMs: 50 } });
  await world.caughtUp();
  const { concurrency } = (await world.http.get({ id: waiting.id }).orThrow()).job;
  const entryKey = keyStateKey({ service: "crm", jobType: "sync" }, concurrency?.keyHash ?? "");
  const read = () =>
    readEntry(world.connection, KEYS_BUCKET, entryKey, { giveUpAt: Date.now() + 5_000 });
  // As if the job had come into the line long ago, and was never created.
  const entry = await read();
  const state = JSON.parse(new TextDecoder().decode(entry.value));
  const [queued] = state.queued;
  state.queued = [{
    ...queued,
    jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
    createdAt: "2026-01-01T00:00:00.000Z",
  }];
  using publisher = createPublisher(world.connection);
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  assert.equal(
    (await writeEntry(publisher, KEYS_BUCKET, entryKey, bytes, entry.revision)).kind,
    "stored",
  );
  await eventually("the entry is gone", async () => (await read()).value === undefined);
  assert.match(world.notes.join("\n"), /no longer stands in the way of key a of crm sync/);
});
