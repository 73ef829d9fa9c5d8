import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import {
  connectService,
  connectServiceWith,
  defineJobs,
  MigrationError,
  type QueueMap,
  type ServiceDefinition,
} from "../mod.ts";
import { readEntry } from "../nats/mod.ts";
import { decodeQueueRecord, META_BUCKET, queueRegistryKey, valueOrThrow } from "../protocol/mod.ts";
import { testOnBothServers } from "./servers.ts";

const payload = z.object({ id: z.string() });
const five = defineJobs("billing", { charge: { payload, maxDeliver: 5 } });
const three = defineJobs("billing", { charge: { payload, maxDeliver: 3 } });
const renamed = defineJobs("billing", { chargeCard: { payload } });
const two = defineJobs("billing", { charge: { payload, maxDeliver: 9 }, refund: { payload } });

testOnBothServers("start() records the queues where they can be read", async (server) => {
  await using nc = await connect({ servers: server.url });
  await using service = await connectService(five, { connection: nc }).orThrow();
  await service.start().orThrow();
  const options = { giveUpAt: Date.now() + 5_000 };
  const entry = await readEntry(nc, META_BUCKET, queueRegistryKey("billing"), options);
  const queues = valueOrThrow(decodeQueueRecord(entry.value));
  assert.deepEqual(queues.map(({ jobType, maxDeliver }) => [jobType, maxDeliver]), [["charge", 5]]);
});

testOnBothServers(
  "start() takes an update and refuses a migration unless it is allowed",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    const start = async <Queues extends QueueMap>(
      definition: ServiceDefinition<Queues>,
      allowMigration: boolean | string[] = false,
    ) => {
      const options = { connection: nc, allowMigration };
      await using service = await connectService(definition, options).orThrow();
      return await service.start();
    };
    assert.ok((await start(three)).ok);
    assert.ok((await start(five)).ok, "more tries are an update");
    const refused = await start(three);
    assert.equal(refused.ok, false);
    assert.ok(refused.error instanceof MigrationError);
    assert.equal(refused.error.reason, "migration");
    assert.deepEqual(refused.error.reasons.map(({ queue, field }) => [queue, field]), [[
      "charge",
      "maxDeliver",
    ]]);
    assert.match(
      refused.error.message,
      /^Cannot start billing: .*maxDeliver falls from 5 to 3.*set allowMigration/,
    );
    assert.equal(
      (await start(three, ["refund"])).ok,
      false,
      "another queue's leave does not count",
    );
    assert.ok((await start(three, ["charge"])).ok);
    assert.ok((await start(two)).ok, "a new queue is an update");
    assert.equal((await start(renamed)).ok, false, "a removed queue is a migration");
    assert.ok((await start(renamed, true)).ok);
  },
);

testOnBothServers(
  "start() of many processes at once records once and fails nobody",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    const services = await Promise.all(
      Array.from({ length: 10 }, () => connectService(five, { connection: nc }).orThrow()),
    );
    const started = await Promise.all(services.map((service) => service.start()));
    assert.ok(started.every(({ ok }) => ok));
    await Promise.all(services.map((service) => service.stop()));
  },
);

Deno.test("connectServiceWith() refuses a keyed queue when nobody keeps its keys", () => {
  const keyed = defineJobs("billing", { charge: { payload, keyConcurrency: { key: ["/id"] } } });
  assert.throws(
    () => connectServiceWith({})(keyed),
    /^TypeError: Cannot connect: the queue charge declares/,
  );
});
