import assert from "node:assert/strict";
import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { ask, startTestAdmin } from "./admin_world.ts";
import { testOnBothServers } from "./servers.ts";

const anything = defineJobs("mill", { grind: { payload: z.unknown(), result: z.unknown() } });

function nested(depth: number): unknown {
  let value: unknown = "bottom";
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

testOnBothServers(
  "hostile payloads are stored, listed and shown, and harm nobody",
  async (server) => {
    await using service = await connectService(anything, { servers: server.url }).orThrow();
    const hostile = [
      { html: "<script>alert(1)</script><img src=x onerror=alert(1)>", quote: `"'\`\\` },
      { control: "\u0000\u0001\u001b[31m\u2028\u2029\u202e\ud83d\ude00\r\ndata: forged\n\nid: 1" },
      { __proto__: null, constructor: { prototype: { polluted: true } }, toString: "x" },
      nested(1_000),
      "x".repeat(1_000_000),
      null,
      0,
    ];
    service.jobs.grind.handle(({ job }) => job.payload);
    await service.start().orThrow();
    const refs = await Promise.all(
      hostile.map((payload) => service.jobs.grind.create(payload).orThrow()),
    );
    for (const ref of refs) {
      assert.equal((await ref.wait({ timeoutMs: 20_000 }).orThrow()).state, "completed");
    }
    await using world = await startTestAdmin(server.url);
    await world.caughtUp();
    const listed = await world.http.list({ limit: 50 }).orThrow();
    for (const [index, ref] of refs.entries()) {
      const wanted = JSON.parse(JSON.stringify(hostile[index]));
      const { job } = await world.http.get({ id: ref.id }).orThrow();
      assert.deepEqual([job.payload, job.result], [wanted, wanted]);
      assert.deepEqual(listed.entries.find(({ id }) => id === ref.id)?.payload, wanted);
      const shown = await ask(world, "GET", `/v1/jobs/${ref.id}`);
      assert.match(shown.headers.get("content-type") ?? "", /^application\/json/);
      assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
      const { entries } = await world.http.events({ id: ref.id }).orThrow();
      assert.equal(entries.length, 3);
    }
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    // Over NATS an answer cannot be larger than a message: a list leaves out what does not fit.
    const overNats = await world.nats.list({ limit: 50 }).orThrow();
    assert.equal(overNats.count, hostile.length);
    const omitted = overNats.entries.filter(({ documentsOmitted }) => documentsOmitted === true);
    assert.ok(omitted.some(({ id }) => id === refs[4]?.id));
    const whole = await world.nats.get({ id: refs[4]?.id ?? "" });
    assert.equal(!whole.ok && whole.error.code, "too_large");
    assert.equal((await world.http.health({}).orThrow()).status, "ok");
  },
);
