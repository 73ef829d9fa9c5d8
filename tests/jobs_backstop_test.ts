import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { connectService, defineJobs, Snooze, valueOrThrow } from "../mod.ts";
import { openLifecycle } from "../jobs/mod.ts";
import { silentLog } from "../jobs/log.ts";
import { startWorker, type Worker } from "../jobs/worker.ts";
import { type Connection, ensureConsumer } from "../nats/mod.ts";
import { serverCapabilities, workConsumer } from "../protocol/mod.ts";
import { ended, numbered, within } from "./job_service.ts";
import { moment } from "./keyed_service.ts";
import { testOnBothServers } from "./servers.ts";

const definition = defineJobs("shop", { poll: { payload: numbered, ackWaitMs: 1_000 } });
const queue = { service: "shop", jobType: "poll" };
/** As if the job had been snoozed nearly a thousand times: after these the server gives it up. */
const MAX_DELIVERIES = 6;

async function startPolling(
  connection: Connection,
  handler: (deliveries: number) => void,
): Promise<Worker & AsyncDisposable> {
  const settings = definition.settings.poll;
  const consumer = { ...workConsumer(queue, settings), max_deliver: MAX_DELIVERIES };
  valueOrThrow(await ensureConsumer(connection, consumer, { giveUpAt: Date.now() + 10_000 }));
  const capabilities = valueOrThrow(serverCapabilities(connection.info?.version ?? ""));
  const lifecycle = openLifecycle({ connection, capabilities });
  const worker = startWorker({
    connection,
    lifecycle,
    queue,
    settings,
    payload: numbered,
    result: undefined,
    handler: (job) => handler(job.deliveries),
    instanceId: "poller",
    inboxPrefix: "_INBOX",
    clock: Date.now,
    random: Math.random,
    log: silentLog,
    maxDeliveries: MAX_DELIVERIES,
  });
  return {
    ...worker,
    async [Symbol.asyncDispose]() {
      await worker.stop(0);
      lifecycle[Symbol.dispose]();
    },
  };
}

testOnBothServers(
  "a job that is snoozed more often than the server delivers is held by the worker, and lives on",
  async (server) => {
    await using service = await connectService(definition, { servers: server.url }).orThrow();
    await using connection = await connect({ servers: server.url });
    let snoozes = 0;
    let most = 0;
    await using _worker = await startPolling(connection, (deliveries) => {
      most = Math.max(most, deliveries);
      if (snoozes++ < 2 * MAX_DELIVERIES) throw new Snooze(30);
    });
    const ref = await service.jobs.poll.create({ n: 1 }).orThrow();
    const { state, job } = await ended(ref);
    assert.equal(state, "completed");
    assert.equal(job.tries, 1);
    assert.ok(most < MAX_DELIVERIES, "some are left for processes that die");
  },
);

testOnBothServers(
  "work that is held near the backstop is kept alive, and goes back when its worker stops",
  async (server) => {
    await using service = await connectService(definition, { servers: server.url }).orThrow();
    await using connection = await connect({ servers: server.url });
    let calls = 0;
    let longSince = Promise.withResolvers<void>();
    const handler = () => {
      calls++;
      if (calls > 3) return;
      // Longer than the server waits for a word of the one that holds it.
      if (calls === 3) longSince.resolve();
      throw new Snooze(calls === 3 ? 2_500 : 10);
    };
    const ref = await service.jobs.poll.create({ n: 1 }).orThrow();
    {
      await using _first = await startPolling(connection, handler);
      await within("third snooze", longSince.promise);
      await moment(1_500);
      assert.equal(calls, 3, "nobody else got it");
    }
    longSince = Promise.withResolvers();
    await using _second = await startPolling(connection, handler);
    assert.equal((await ended(ref)).state, "completed");
    assert.equal(calls, 4);
  },
);
