/** Stopping: handlers may finish for a while, the rest goes back at once and runs elsewhere. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const work = defineJobs("work", {
  task: { payload: z.object({ long: z.boolean() }), concurrency: 4 },
});

await using server = await exampleServer();
const connect = (instanceId: string) =>
  connectService(work, { servers: server.url, instanceId, drainMs: 200 }).orThrow();

const first = await connect("first");
const busy = Promise.withResolvers<void>();
let running = 0;
first.jobs.task.handle(async ({ job, signal }) => {
  if (++running === 4) busy.resolve();
  if (!job.payload.long) return void await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
});
await first.start().orThrow();
const payloads = [true, true, false, false].map((long) => ({ long }));
const created = await first.jobs.task.createMany(payloads);
await busy.promise;

await using second = await connect("second");
second.jobs.task.handle(() => {});
await first.stop();
await second.start().orThrow();

for (const result of created) {
  if (!result.ok) throw result.error;
  const { job, state } = await second.jobs.task.ref(result.value.id).wait().orThrow();
  const length = job.payload.long ? "long" : "short";
  say(`${length}: ${state} by ${job.instanceId}, tries counted: ${job.tries}`);
}
