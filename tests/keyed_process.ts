/** A process with a keyed queue; `job_processes.ts` starts it and talks with it. */

import { connectNats, connectService } from "../mod.ts";
import { openChild } from "./job_processes.ts";
import { defineSync } from "./keyed_service.ts";
import { dyingConnection } from "./dying_connection.ts";
import { refereed } from "./referee.ts";

const start = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();
const { settings, say } = openChild(({ what }) => {
  if (what === "start") start.resolve();
  if (what === "release") release.resolve();
  if (what === "create") void create();
});
const { url, instanceId, mode, drainMs, workMs, keyed } = settings;
const { service: name, ackWaitMs, concurrency, maxQueuedPerKey, dieBefore } = keyed;
const { maxActive, stalePolicy, heartbeatIntervalMs, heartbeatTtlMs } = keyed;
const definition = defineSync({
  service: name,
  ackWaitMs,
  concurrency,
  queue: { maxQueuedPerKey },
  keys: {
    maxActive,
    stalePolicy,
    ...(heartbeatIntervalMs !== undefined && { heartbeatIntervalMs }),
    ...(heartbeatTtlMs !== undefined && { heartbeatTtlMs }),
  },
});
const connection = dyingConnection(await connectNats({ servers: url }), dieBefore);
const service = await connectService(definition, { connection, instanceId, drainMs }).orThrow();

async function create(): Promise<void> {
  const created = await service.jobs.sync.create({ customer: "c", n: 0 });
  say({ what: "created", outcome: created.ok ? created.value.id : created.error.reason });
}

service.jobs.sync.handle(async ({ job, signal }) => {
  const { customer } = job.payload;
  if (mode === "finish") {
    const entry = { service: name, key: customer, instanceId, jobId: job.id };
    return await refereed(connection, entry, async () => {
      if (workMs > 0) await new Promise((resolve) => setTimeout(resolve, workMs * Math.random()));
      return { by: instanceId, deliveries: job.deliveries };
    });
  }
  say({ what: "running", jobId: job.id });
  signal.addEventListener("abort", () => {
    say({ what: "aborted", jobId: job.id, outcome: signal.reason.reason });
  });
  await release.promise;
  return { by: instanceId, deliveries: job.deliveries };
});
say({ what: "ready" });
await start.promise;
await service.start().orThrow();
say({ what: "started" });
await service.wait();
await connection.close();
say({ what: "stopped" });
