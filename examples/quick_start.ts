/** A service with one queue: create a job, handle it, wait for it. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

await using server = await exampleServer();

// README: from here
const billing = defineJobs("billing", {
  chargeCard: {
    payload: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
    result: z.object({ chargeId: z.string() }),
    concurrency: 10,
  },
});

await using service = await connectService(billing, { servers: server.url }).orThrow();

service.jobs.chargeCard.handle(async ({ job }) => {
  await job.progress({ step: "charging", current: 1, total: 2 });
  return { chargeId: `charge-of-${job.payload.orderId}` };
});
await service.start().orThrow();

const created = await service.jobs.chargeCard.create({ orderId: "o-1", cents: 1200 });
if (!created.ok) throw created.error; // typed: "invalid-payload", "stream-full", "unconfirmed", …
const finished = await created.value.wait({ timeoutMs: 30_000 }).orThrow();
if (finished.state === "completed") say(`completed: ${finished.result.chargeId}`);
// README: to here
