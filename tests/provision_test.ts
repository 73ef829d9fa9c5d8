import assert from "node:assert/strict";
import { jetstream } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { ulid } from "ulid";
import { storyOfOneJob } from "../examples/_demo_story.ts";
import { provision } from "../nats/mod.ts";
import { encodeEvent, type JobEvent, lifecycleSubject, valueOrThrow } from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { testOnBothServers, VERSIONS } from "./servers.ts";

type StreamInfo = { config: Record<string, unknown>; state: { messages: number } };

async function streamInfo(nc: NatsConnection, name: string): Promise<StreamInfo> {
  return (await nc.request(`$JS.API.STREAM.INFO.${name}`)).json<StreamInfo>();
}

async function changeStream(nc: NatsConnection, name: string, change: object): Promise<void> {
  const { config } = await streamInfo(nc, name);
  const answer = await nc.request(
    `$JS.API.STREAM.UPDATE.${name}`,
    JSON.stringify({ ...config, ...change }),
  );
  assert.equal(answer.json<{ error?: unknown }>().error, undefined);
}

/** Configurations of all streams, without what differs by time. */
async function allStreams(nc: NatsConnection): Promise<unknown> {
  const answer = await nc.request("$JS.API.STREAM.LIST");
  const { streams } = answer.json<{ streams: { config: { name: string } }[] }>();
  return streams.map(({ config }) => config).sort((a, b) => a.name < b.name ? -1 : 1);
}

function createdEvent(): JobEvent {
  const [created] = storyOfOneJob();
  assert.ok(created);
  return { ...created, jobId: ulid() };
}

async function untilMessages(nc: NatsConnection, stream: string, count: number): Promise<number> {
  const giveUpAt = Date.now() + 20_000;
  for (;;) {
    const { state } = await streamInfo(nc, stream);
    if (state.messages >= count || Date.now() > giveUpAt) return state.messages;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

testOnBothServers("provision() makes everything, and the second time nothing", async (server) => {
  await using nc = await connect({ servers: server.url });
  const first = await provision(nc).orThrow();
  assert.deepEqual(new Set(first.streams.map(({ action }) => action)), new Set(["created"]));
  assert.deepEqual(first.streams.flatMap(({ drift }) => drift), []);
  assert.deepEqual(first.replicas, { count: 1, decidedBy: "server" });
  assert.equal(first.capabilities.version, server.version);
  const second = await provision(nc).orThrow();
  assert.deepEqual(new Set(second.streams.map(({ action }) => action)), new Set(["unchanged"]));
  assert.deepEqual(second.streams.flatMap(({ drift }) => drift), []);
  assert.deepEqual(second.replicas, { count: 1, decidedBy: "existing" });
});

for (const version of VERSIONS) {
  Deno.test(`provision() twice at once ends the same on 50 fresh servers [${version}]`, async () => {
    let wanted: unknown;
    for (let round = 0; round < 50; round++) {
      await using server = await startNatsServer({ version });
      await using one = await connect({ servers: server.url });
      await using two = await connect({ servers: server.url });
      const [first, second] = await Promise.all([provision(one), provision(two)]);
      for (const each of [first, second]) {
        assert.ok(each.ok, `round ${round}: ${each.ok ? "" : each.error.message}`);
      }
      const streams = await allStreams(one);
      wanted ??= streams;
      assert.deepEqual(streams, wanted, `round ${round}`);
    }
  });
}

testOnBothServers(
  "provision() follows another that decided on the replicas since it looked",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using other = await connect({ servers: server.url });
    let looked = false;
    const slow = new Proxy(nc, {
      get(target, name) {
        if (name !== "request") return Reflect.get(target, name, target);
        return async (...call: Parameters<typeof nc.request>) => {
          const answer = await target.request(...call);
          if (!looked && call[0].endsWith("STREAM.INFO.JOBS")) {
            looked = true;
            await provision(other).orThrow();
          }
          return answer;
        };
      },
    });
    const { replicas } = await provision(slow).orThrow();
    assert.deepEqual(replicas, { count: 1, decidedBy: "existing" });
  },
);

testOnBothServers(
  "provision() returns only when no job can be missed: 3,000 at once all reach JOBS_WORK",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await provision(nc).orThrow();
    const js = jetstream(nc);
    const events = Array.from({ length: 3_000 }, createdEvent);
    await Promise.all(
      events.map((event) =>
        js.publish(lifecycleSubject(event, event.eventType), valueOrThrow(encodeEvent(event)))
      ),
    );
    assert.equal(await untilMessages(nc, "JOBS_WORK", 3_000), 3_000);
  },
);

testOnBothServers("provision() mends what may be changed and reports the rest", async (server) => {
  await using nc = await connect({ servers: server.url });
  await provision(nc).orThrow();
  await changeStream(nc, "JOBS", { discard: "old", allow_rollup_hdrs: true, allow_direct: false });
  await changeStream(nc, "KV_JOBS_KEYS", { allow_rollup_hdrs: true });
  const wider = ["trellis.jobs.workers.*.*.*.heartbeat", "elsewhere.workers"];
  await changeStream(nc, "JOBS_WORKERS", { subjects: wider });

  const looked = await provision(nc, { update: false }).orThrow();
  const [jobs] = looked.streams;
  assert.equal(jobs?.action, "unchanged");
  assert.deepEqual(jobs.drift.map(({ field }) => field).sort(), [
    "allow_direct",
    "allow_rollup_hdrs",
    "discard",
  ]);

  const mended = await provision(nc).orThrow();
  const byName = new Map(mended.streams.map((stream) => [stream.name, stream]));
  assert.deepEqual(byName.get("JOBS"), { name: "JOBS", action: "updated", drift: [] });
  assert.equal(byName.get("KV_JOBS_KEYS")?.action, "updated");
  assert.deepEqual(byName.get("JOBS_WORKERS"), {
    name: "JOBS_WORKERS",
    action: "unchanged",
    drift: [{
      field: "subjects",
      found: wider,
      wanted: ["trellis.jobs.workers.*.*.*.heartbeat"],
    }],
  });
  assert.equal((await streamInfo(nc, "JOBS")).config["allow_rollup_hdrs"], false);
});

testOnBothServers(
  "provision() sets the limits it is given and leaves an operator's own alone",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await provision(nc, { maxBytes: 10_000_000 }).orThrow();
    assert.equal((await streamInfo(nc, "JOBS")).config["max_bytes"], 10_000_000);
    await provision(nc).orThrow();
    assert.equal((await streamInfo(nc, "JOBS")).config["max_bytes"], 10_000_000);
    await provision(nc, { maxAgeMs: 3_600_000, maxBytes: 20_000_000 }).orThrow();
    const { config } = await streamInfo(nc, "JOBS");
    assert.equal(config["max_bytes"], 20_000_000);
    assert.equal(config["max_age"], 3_600_000_000_000);
  },
);

testOnBothServers(
  "provision() refuses a work stream that lost its source, and says what to do",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await provision(nc).orThrow();
    await changeStream(nc, "JOBS_WORK", { sources: [] });
    const refused = await provision(nc);
    assert.equal(refused.ok, false);
    assert.equal(refused.error.reason, "drift");
    assert.match(
      refused.error.message,
      /^Cannot provision: JOBS_WORK is not filled from JOBS.*delete it and provision again$/,
    );
  },
);

Deno.test("provision() says that JetStream is off for the account", async () => {
  const config = `accounts { A { users: [{ user: "a", password: "a" }] } }`;
  await using server = await startNatsServer({ config });
  await using nc = await connect({ servers: server.url, user: "a", pass: "a" });
  const refused = await provision(nc, { timeoutMs: 1_000 });
  assert.equal(refused.ok, false);
  assert.equal(refused.error.reason, "jetstream-disabled");
  assert.match(refused.error.message, /^Cannot provision: JetStream is off/);
});

Deno.test("provision() says that the credentials do not allow it", async () => {
  const config = `authorization { users: [
    { user: "a", password: "a", permissions: { publish: { deny: "$JS.API.STREAM.CREATE.>" } } }
  ] }`;
  await using server = await startNatsServer({ config });
  await using nc = await connect({ servers: server.url, user: "a", pass: "a" });
  const refused = await provision(nc, { timeoutMs: 5_000 });
  assert.equal(refused.ok, false);
  assert.equal(refused.error.reason, "denied");
  assert.match(refused.error.message, /STREAM\.CREATE/);
});

testOnBothServers(
  "provision() leaves a stream of somebody else alone, and says so",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    const theirs = { name: "JOBS", subjects: ["hiring.jobs.>"], allow_rollup_hdrs: true };
    await nc.request("$JS.API.STREAM.CREATE.JOBS", JSON.stringify({ ...theirs, storage: "file" }));
    const before = (await streamInfo(nc, "JOBS")).config;
    const refused = await provision(nc);
    assert.equal(refused.ok, false);
    assert.equal(refused.error.reason, "drift");
    assert.match(refused.error.message, /^Cannot provision: the stream JOBS .*hiring\.jobs\.>/);
    assert.deepEqual((await streamInfo(nc, "JOBS")).config, before);
  },
);

Deno.test("provision() says that the connection is closed, and throws on numbers that mean nothing", async () => {
  await using server = await startNatsServer();
  const nc = await connect({ servers: server.url });
  assert.throws(
    () => provision(nc, { maxBytes: 0 }),
    /^RangeError: Cannot provision: maxBytes is 0/,
  );
  assert.throws(() => provision(nc, { maxAgeMs: NaN }), /maxAgeMs is NaN/);
  assert.throws(() => provision(nc, { replicas: 2.5 }), /replicas is 2.5/);
  assert.ok((await provision(nc, { maxAgeMs: 10_000 })).ok);
  await nc.close();
  const refused = await provision(nc);
  assert.equal(refused.ok === false && refused.error.reason, "disconnected");
});
