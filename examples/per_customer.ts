/** One job at a time per customer, in the order in which they came; customers do not wait for each other. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const crm = defineJobs("crm", {
  applyChange: {
    payload: z.object({ customer: z.string(), change: z.string() }),
    concurrency: 10,
    keyConcurrency: { key: ["customer", "/customer"] },
    queue: { maxQueuedPerKey: 100 },
  },
});

await using server = await exampleServer();
await using service = await connectService(crm, { servers: server.url }).orThrow();

const applied = new Map<string, string[]>();
const running = new Map<string, number>();
let most = 0;
service.jobs.applyChange.handle(async ({ job }) => {
  const { customer, change } = job.payload;
  running.set(customer, (running.get(customer) ?? 0) + 1);
  most = Math.max(most, running.get(customer) ?? 0);
  await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
  applied.set(customer, [...applied.get(customer) ?? [], change]);
  running.set(customer, (running.get(customer) ?? 0) - 1);
});
await service.start().orThrow();

const refs = [];
for (const change of ["create", "rename", "move", "close"]) {
  for (const customer of ["ann", "bob"]) {
    refs.push(await service.jobs.applyChange.create({ customer, change }).orThrow());
  }
}
for (const ref of refs) await ref.wait({ timeoutMs: 30_000 }).orThrow();
for (const [customer, changes] of [...applied].sort()) say(`${customer}: ${changes.join(", ")}`);
say(`at most ${most} at once per customer`);
