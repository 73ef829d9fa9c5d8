/** Many jobs at once: a result for each, all or nothing, and the same job for the same key. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const imports = defineJobs("imports", {
  row: { payload: z.object({ line: z.number().int() }), concurrency: 100 },
});

await using server = await exampleServer();
await using service = await connectService(imports, { servers: server.url }).orThrow();

const lines = Array.from({ length: 1_000 }, (_, line) => ({ line }));
const results = await service.jobs.row.createMany([...lines, { line: 0.5 }]);
say(`created ${results.filter(({ ok }) => ok).length} of ${results.length}`);
for (const result of results) if (!result.ok) say(`refused: ${result.error.reason}`);

const atomic = await service.jobs.row.createMany(lines, { atomic: true });
say(`all or nothing: ${atomic.every(({ ok }) => ok) ? "all" : "nothing"}`);

const once = { idempotencyKey: "import-2026-01-01" };
const first = await service.jobs.row.create({ line: 1 }, once).orThrow();
const again = await service.jobs.row.create({ line: 1 }, once).orThrow();
say(`the same key gives the same job: ${first.id === again.id}`);

let handled = 0;
const done = Promise.withResolvers<void>();
service.jobs.row.handle(() => {
  if (++handled === 2_001) done.resolve();
});
await service.start().orThrow();
await done.promise;
say(`handled ${handled}`);
