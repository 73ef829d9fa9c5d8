/** A handler that tells how far it is; anybody with the id can look. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const reports = defineJobs("reports", {
  build: {
    payload: z.object({ pages: z.number().int() }),
    result: z.object({ bytes: z.number() }),
  },
});

await using server = await exampleServer();
await using service = await connectService(reports, { servers: server.url }).orThrow();

service.jobs.build.handle(async ({ job }) => {
  for (let page = 1; page <= job.payload.pages; page++) {
    await job.progress({ step: "pages", current: page, total: job.payload.pages }).orThrow();
  }
  await job.log("info", `wrote ${job.payload.pages} pages`).orThrow();
  return { bytes: job.payload.pages * 1_000 };
});
await service.start().orThrow();

const ref = await service.jobs.build.create({ pages: 3 }).orThrow();
const finished = await ref.wait({ timeoutMs: 30_000 }).orThrow();
const job = await ref.get().orThrow();
say(`progress: ${job.progress?.current} of ${job.progress?.total} ${job.progress?.step}`);
say(`log: ${job.logs?.map(({ message }) => message).join(", ")}`);
if (finished.state === "completed") say(`result: ${finished.result.bytes} bytes`);
