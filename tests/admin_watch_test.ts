import assert from "node:assert/strict";
import { type SequencedEventAnswer, watchEvents } from "../admin/mod.ts";
import { KIND, startMarket, startTestAdmin, type TestAdmin } from "./admin_world.ts";
import { BASE } from "./admin_world.ts";
import { storedEvents, within } from "./job_service.ts";
import { eventually } from "./job_processes.ts";
import { testOnBothServers } from "./servers.ts";
import { connect } from "@nats-io/transport-node";

/** Listens until it is stopped, and keeps what it hears. */
function listen(
  { app }: TestAdmin,
  request: { fromSequence?: number; service?: string; type?: string; id?: string } = {},
  onRequest: (request: Request) => void = () => {},
) {
  const heard: SequencedEventAnswer[] = [];
  const stopping = new AbortController();
  const send = (asked: Request) => {
    onRequest(asked);
    return app.fetch(asked);
  };
  const listening = (async () => {
    const options = { ...request, signal: stopping.signal };
    for await (const event of watchEvents({ url: BASE, fetch: send }, options)) heard.push(event);
  })();
  return {
    heard,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await within("the end of listening", listening);
    },
  };
}

testOnBothServers(
  "Watch gives every event once, in order, through a kill of the server",
  async (server) => {
    await using market = await startMarket(server.url);
    await using world = await startTestAdmin(server.url);
    await using all = listen(world, { fromSequence: 1 });
    const first = await market.ended(KIND.die);
    await eventually(
      "it is heard",
      () => Promise.resolve(all.heard.some(({ event }) => event.eventType === "dead")),
    );
    await server.kill();
    await server.restart();
    const second = await market.ended(KIND.complete);
    await using nc = await connect({ servers: server.url });
    const stored = await storedEvents(nc);
    await eventually("all is heard", () => Promise.resolve(all.heard.length >= stored.length));
    assert.deepEqual(
      all.heard.map(({ sequence }) => sequence),
      stored.map(({ sequence }) => sequence),
    );
    assert.deepEqual(all.heard.map(({ event }) => event), stored.map(({ event }) => event));
    await world.caughtUp();
    await using one = listen(world, { fromSequence: 1, id: second });
    await eventually("one job is heard", () => Promise.resolve(one.heard.length === 3));
    await using queue = listen(world, { fromSequence: 1, service: "market", type: "sell" });
    await eventually(
      "a queue is heard",
      () => Promise.resolve(queue.heard.length === stored.length),
    );
    assert.ok(one.heard.every(({ event }) => event.jobId === second && event.jobId !== first));
  },
);

testOnBothServers("Watch goes on behind the last event that was heard", async (server) => {
  await using market = await startMarket(server.url);
  await using world = await startTestAdmin(server.url);
  await market.ended(KIND.complete);
  const headers = { "last-event-id": "2" };
  const response = await world.app.fetch(new Request(`${BASE}/v1/watch`, { headers }));
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n\nid: 3\n") && !text.includes("\nid: 3\n")) {
    text += (await within("an event", reader?.read() ?? Promise.reject()))?.value ?? "";
  }
  assert.doesNotMatch(text, /^id: [12]$/m);
  assert.match(text, /^event: completed$/m);
  await reader?.cancel();
});

testOnBothServers(
  "Watch lets no more listen than it can serve, and forgets who is gone",
  async (server) => {
    await using world = await startTestAdmin(server.url);
    const { createHttpApp } = await import("../admin/mod.ts");
    const app = createHttpApp({ ports: world.admin.ports, maxWatchers: 2 });
    const open = () => app.fetch(new Request(`${BASE}/v1/watch`));
    const [one, two] = [await open(), await open()];
    const refused = await open();
    assert.equal(refused.status, 503);
    await refused.body?.cancel();
    await one.body?.cancel();
    const three = await open();
    assert.equal(three.status, 200);
    await Promise.all([two.body?.cancel(), three.body?.cancel()]);
  },
);
