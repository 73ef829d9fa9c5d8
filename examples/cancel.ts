/** Cancelling: a waiting job never runs, a running one is told by its signal. */

import { z } from "zod";
import { connectService, defineJobs, JobAborted } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const video = defineJobs("video", { render: { payload: z.object({ name: z.string() }) } });

await using server = await exampleServer();
await using service = await connectService(video, { servers: server.url }).orThrow();

const running = Promise.withResolvers<void>();
service.jobs.render.handle(async ({ signal }) => {
  running.resolve();
  await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
    .catch((reason) => {
      if (reason instanceof JobAborted) say(`the handler was told: ${reason.reason}`);
      throw reason;
    });
});

const waiting = await service.jobs.render.create({ name: "never" }).orThrow();
await waiting.cancel({ actor: "ann", reason: "changed my mind" }).orThrow();
await service.start().orThrow();
const long = await service.jobs.render.create({ name: "long" }).orThrow();
await running.promise;
await long.cancel({ actor: "ann" }).orThrow();

for (const ref of [waiting, long]) {
  const finished = await ref.wait({ timeoutMs: 30_000 }).orThrow();
  say(
    `${finished.job.payload.name}: ${finished.state} by ${finished.job.actor}, ${finished.job.tries} tries`,
  );
}
say(`cancelling again gives the job as it ended: ${(await long.cancel().orThrow()).state}`);
