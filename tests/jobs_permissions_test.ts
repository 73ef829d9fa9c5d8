import assert from "node:assert/strict";
import { connect } from "@nats-io/transport-node";
import { z } from "zod";
import { connectService, defineJobs } from "../mod.ts";
import { provision } from "../nats/mod.ts";
import { permissionsConfig, serviceInboxPrefix, servicePermissions } from "../protocol/mod.ts";
import { type NatsServer, startNatsServer } from "../testing/mod.ts";
import { VERSIONS } from "./servers.ts";

const payload = z.object({ n: z.number() });
const billing = defineJobs("billing", { charge: { payload, result: payload, backoffMs: [50] } });
const mail = defineJobs("mail", { send: { payload } });

function config(): string {
  const user = (name: string, queues: string[]) =>
    `{ user: ${name}, password: x, ${permissionsConfig(servicePermissions(name, queues))} }`;
  return `authorization { users: [
    { user: admin, password: x }
    ${user("billing", ["charge"])}
    ${user("mail", ["send"])}
  ] }`;
}

async function provisioned(server: NatsServer): Promise<void> {
  await using admin = await connect({ servers: server.url, user: "admin", pass: "x" });
  await provision(admin).orThrow();
}

const as = (server: NatsServer, service: string) => ({
  servers: server.url,
  user: service,
  pass: "x",
  inboxPrefix: serviceInboxPrefix(service),
  provision: false,
  signals: false,
});

for (const version of VERSIONS) {
  Deno.test(`a service does all it does with the least permissions [${version}]`, async () => {
    await using server = await startNatsServer({ version, config: config() });
    await provisioned(server);
    const troubles: string[] = [];
    await using service = await connectService(billing, {
      ...as(server, "billing"),
      log: (level, what, details) => {
        if (level !== "debug") troubles.push(`${what} ${JSON.stringify(details)}`);
      },
    }).orThrow();
    service.jobs.charge.handle(async ({ job }) => {
      if (job.payload.n === 1 && job.tries === 1) throw new Error("once");
      await job.progress({ current: 1 }).orThrow();
      await job.log("info", "done").orThrow();
      return { n: job.payload.n };
    });
    await service.start().orThrow();
    const options = { idempotencyKey: "k" };
    const ref = await service.jobs.charge.create({ n: 1 }, options).orThrow();
    const finished = await ref.wait({ timeoutMs: 20_000 }).orThrow();
    assert.equal(finished.state, "completed");
    assert.equal(finished.job.tries, 2);
    const cancelled = await service.jobs.charge.create({ n: 2 }, { deadlineMs: 60_000 }).orThrow();
    assert.ok((await cancelled.cancel()).ok);
    assert.deepEqual(troubles, []);
  });

  Deno.test(`a service cannot reach another service's jobs [${version}]`, async () => {
    await using server = await startNatsServer({ version, config: config() });
    await provisioned(server);
    await using owner = await connectService(billing, as(server, "billing")).orThrow();
    const ref = await owner.jobs.charge.create({ n: 1 }).orThrow();
    await using intruder = await connectService(billing, as(server, "mail")).orThrow();
    const read = await intruder.jobs.charge.ref(ref.id).get();
    assert.equal(read.ok, false);
    const started = await intruder.start();
    assert.equal(started.ok, false);
    assert.equal((await ref.get().orThrow()).state, "pending");
    await using neighbour = await connectService(mail, as(server, "mail")).orThrow();
    assert.ok((await neighbour.start()).ok);
  });
}

Deno.test("start() without provisioning says which stream is missing and what to do", async () => {
  await using server = await startNatsServer();
  await using service = await connectService(mail, { servers: server.url, provision: false })
    .orThrow();
  service.jobs.send.handle(() => {});
  const started = await service.start();
  assert.equal(started.ok, false);
  assert.match(started.error.message, /^Cannot start.*run provision/);
});
