/** Only the newest waiting request counts: a preview of a document that is being typed. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const editor = defineJobs("editor", {
  preview: {
    payload: z.object({ document: z.string(), text: z.string() }),
    keyConcurrency: { key: ["document", "/document"] },
    queue: { maxQueuedPerKey: 1, whenFull: "replace-oldest" },
  },
});

await using server = await exampleServer();
await using service = await connectService(editor, { servers: server.url }).orThrow();

const shown: string[] = [];
const begun = Promise.withResolvers<void>();
const typed = Promise.withResolvers<void>();
service.jobs.preview.handle(async ({ job }) => {
  begun.resolve();
  await typed.promise;
  shown.push(job.payload.text);
});
await service.start().orThrow();

const refs = [];
for (const text of ["H", "He", "Hel", "Hello"]) {
  const submitted = await service.jobs.preview.submit({ document: "letter", text });
  if (submitted.kind === "rejected") throw submitted.error;
  refs.push(submitted.ref);
  await begun.promise;
}
typed.resolve();
for (const ref of refs) {
  const { state, job } = await ref.wait({ timeoutMs: 30_000 }).orThrow();
  say(`${job.payload.text}: ${state}`);
}
say(`shown: ${shown.join(", ")}`);
