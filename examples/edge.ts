/**
 * The admin at the edge: the HTTP app with a WebSocket connection to NATS and rows that are asked
 * for over HTTP. Beside it, for the example, what runs next to the database.
 */

import { wsconnect } from "@nats-io/nats-core";
import { z } from "zod";
import {
  createAdminClient,
  httpTransport,
  openRemoteStore,
  serveStore,
  startAdmin,
} from "../admin/mod.ts";
import { connectNats, connectService, defineJobs } from "../mod.ts";
import { provision } from "../nats/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { freePort, say } from "./_server.ts";

const websocketPort = freePort();
await using server = await startNatsServer({
  config: `websocket { host: "127.0.0.1", port: ${websocketPort}, no_tls: true }`,
});

// Next to the database: the owner, and the rows over HTTP.
await using inside = await connectNats({ servers: server.url });
await provision(inside).orThrow();
await using database = openSqliteStore({ path: ":memory:" });
await using _owner = startAdmin({ connection: inside, store: database, rpc: false });
const rows = serveStore({ store: database, token: "a long random text" });
await using rowServer = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, rows.fetch);

// At the edge: no TCP, no file, nothing of Deno or Node. The app answers whatever `fetch` it is given.
await using connection = await wsconnect({ servers: `ws://127.0.0.1:${websocketPort}` });
const store = openRemoteStore({
  url: `http://127.0.0.1:${rowServer.addr.port}`,
  token: "a long random text",
});
await using edge = startAdmin({
  connection,
  store,
  role: "rpc-only",
  sharedStore: true,
  rpc: false,
});

const client = createAdminClient(httpTransport({ url: "http://localhost", fetch: edge.app.fetch }));
const health = await client.health({}).orThrow();
say(`${health.role}, rows ${health.projection.state}, problems: ${health.problems.length}`);

const mail = defineJobs("mail", { send: { payload: z.object({ to: z.string() }) } });
await using service = await connectService(mail, { servers: server.url }).orThrow();
const { id } = await service.jobs.send.create({ to: "ann@example.org" }).orThrow();
let cancelled = await client.cancel({ id });
while (!cancelled.ok && cancelled.error.code === "not_found") {
  cancelled = await client.cancel({ id });
}
if (!cancelled.ok) throw cancelled.error;
say(`job ${cancelled.value.job.state}, shown by the lists: ${cancelled.value.projected}`);
say(`jobs: ${(await client.list({ limit: 10, state: ["cancelled"] }).orThrow()).count}`);
