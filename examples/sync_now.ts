/** "Sync now", pressed again and again: one sync runs, one more waits, and the rest are the same wish. */

import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const shop = defineJobs("shop", {
  syncNow: {
    payload: z.object({ store: z.string() }),
    keyConcurrency: { key: ["store", "/store"] },
    queue: { maxQueuedPerKey: 1, whenFull: "coalesce" },
  },
});

await using server = await exampleServer();
await using service = await connectService(shop, { servers: server.url }).orThrow();

let syncs = 0;
const begun = Promise.withResolvers<void>();
const pressed = Promise.withResolvers<void>();
service.jobs.syncNow.handle(async () => {
  syncs++;
  begun.resolve();
  await pressed.promise;
});
await service.start().orThrow();

const outcomes = [];
for (let press = 0; press < 5; press++) {
  outcomes.push(await service.jobs.syncNow.submit({ store: "lisbon" }));
  await begun.promise;
}
pressed.resolve();
say(outcomes.map(({ kind }) => kind).join(", "));
const ids = new Set<string>();
for (const outcome of outcomes) {
  if (outcome.kind === "rejected") continue;
  ids.add(outcome.ref.id);
  // Whoever pressed waits for the sync that stands for the wish.
  await outcome.ref.wait({ timeoutMs: 30_000 }).orThrow();
}
say(`5 presses, ${ids.size} jobs, ${syncs} syncs`);
