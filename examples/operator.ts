/** An operator's script: look at what is dead, put it back to work, and watch it end. */

import { z } from "zod";
import { createAdminClient, natsTransport, startAdmin } from "../admin/mod.ts";
import { connectNats, connectService, defineJobs } from "../mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { exampleServer, say } from "./_server.ts";

const mail = defineJobs("mail", {
  send: { payload: z.object({ to: z.string() }), maxDeliver: 1 },
});

await using server = await exampleServer();
await using service = await connectService(mail, { servers: server.url }).orThrow();
let up = false;
service.jobs.send.handle(() => {
  if (!up) throw new Error("the mail server is down");
});
await service.start().orThrow();

// `deno task admin` runs this as a process of its own.
await using connection = await connectNats({ servers: server.url });
await using store = openSqliteStore({ path: ":memory:" });
await using _admin = startAdmin({ connection, store });

for (const to of ["ann@example.org", "bob@example.org"]) {
  const ref = await service.jobs.send.create({ to }).orThrow();
  await ref.wait({ timeoutMs: 30_000 }).orThrow();
}

// From here on: what an operator writes. Over HTTP it would be httpTransport({ url, token }).
const admin = createAdminClient(natsTransport({ connection }));
let dead = await admin.listDLQ({ limit: 50 }).orThrow();
// Lists follow the stream by milliseconds.
while (dead.count < 2) dead = await admin.listDLQ({ limit: 50 }).orThrow();
for (const job of dead.entries.toReversed()) {
  say(`dead: ${JSON.stringify(job.payload)} (${job.lastError})`);
}

up = true;
const replayed = await admin.replayDLQMany({ filter: { service: "mail" } }).orThrow();
say(`replayed ${replayed.succeeded}, refused ${replayed.failed}`);
for (const { id } of replayed.results) {
  while ((await admin.get({ id }).orThrow()).job.state !== "completed");
  const { entries } = await admin.events({ id }).orThrow();
  say(entries.map(({ event }) => event.eventType).join(" → "));
}
const again = await admin.replayDLQ({ id: dead.entries[0]?.id ?? "" });
if (!again.ok) say(`a second time: ${again.error.code}, it is ${again.error.details.state}`);
