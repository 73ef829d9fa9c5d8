import assert from "node:assert/strict";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { idempotencyRecordKey, META_BUCKET } from "../protocol/mod.ts";
import { createPublisher, writeEntry } from "../nats/mod.ts";
import { testOnBothServers } from "./servers.ts";

const shop = defineJobs("shop", { pack: { payload: z.object({ order: z.string() }) } });

async function messages(nc: NatsConnection, stream: string): Promise<number> {
  const answer = await nc.request(`$JS.API.STREAM.INFO.${stream}`);
  return answer.json<{ state: { messages: number } }>().state.messages;
}

testOnBothServers(
  "create() gives the same job for the same key, from 20 callers at once",
  async (server) => {
    await using one = await connect({ servers: server.url });
    await using two = await connect({ servers: server.url });
    const services = await Promise.all(
      [one, two].map((connection) => connectService(shop, { connection }).orThrow()),
    );
    const creates = Array.from({ length: 20 }, (_, index) => {
      const service = services[index % 2];
      assert.ok(service);
      return service.jobs.pack.create({ order: "o-1" }, { idempotencyKey: "k" }).orThrow();
    });
    const ids = new Set((await Promise.all(creates)).map((ref) => ref.id));
    assert.equal(ids.size, 1);
    assert.equal(await messages(one, "JOBS"), 1);
    await Promise.all(services.map((service) => service.stop()));
  },
);

testOnBothServers(
  "create() refuses the same key with another payload, and keeps keys of queues apart",
  async (server) => {
    await using service = await connectService(shop, { servers: server.url }).orThrow();
    const first = await service.jobs.pack.create({ order: "o-1" }, { idempotencyKey: "k" })
      .orThrow();
    const other = await service.jobs.pack.create({ order: "o-2" }, { idempotencyKey: "k" });
    assert.equal(other.ok, false);
    assert.equal(other.error.reason, "idempotency-conflict");
    assert.equal(other.error.jobId, first.id);
    const fresh = await service.jobs.pack.create({ order: "o-2" }, { idempotencyKey: "k2" })
      .orThrow();
    assert.notEqual(fresh.id, first.id);
  },
);

testOnBothServers("create() uses a key anew when its window is over", async (server) => {
  await using service = await connectService(shop, { servers: server.url }).orThrow();
  const options = { idempotencyKey: "k", idempotencyWindowMs: 0 };
  const first = await service.jobs.pack.create({ order: "o-1" }, options).orThrow();
  const second = await service.jobs.pack.create({ order: "o-2" }, options).orThrow();
  assert.notEqual(first.id, second.id);
});

testOnBothServers(
  "create() finishes what a crash between claim and job left undone",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using service = await connectService(shop, { connection: nc }).orThrow();
    const first = await service.jobs.pack.create({ order: "o-1" }, { idempotencyKey: "k" })
      .orThrow();
    // Take the job away and leave the claim, as a crash right after the claim would have.
    await nc.request(
      "$JS.API.STREAM.PURGE.JOBS",
      JSON.stringify({ filter: `trellis.jobs.shop.pack.${first.id}.*` }),
    );
    assert.equal((await first.get()).ok, false);
    const again = await service.jobs.pack.create({ order: "o-1" }, { idempotencyKey: "k" })
      .orThrow();
    assert.equal(again.id, first.id);
    assert.equal((await again.get().orThrow()).state, "pending");
  },
);

testOnBothServers("create() replaces a claim that cannot be read", async (server) => {
  await using nc = await connect({ servers: server.url });
  await using service = await connectService(shop, { connection: nc }).orThrow();
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("k")));
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const key = idempotencyRecordKey({ service: "shop", jobType: "pack" }, hex);
  using publisher = createPublisher(nc);
  const written = await writeEntry(publisher, META_BUCKET, key, new TextEncoder().encode("{"), 0);
  assert.equal(written.kind, "stored");
  const created = await service.jobs.pack.create({ order: "o-1" }, { idempotencyKey: "k" });
  assert.ok(created.ok);
});
