import assert from "node:assert/strict";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, headers, type MsgHdrs } from "@nats-io/transport-node";
import { connectService } from "../mod.ts";
import { provision } from "../nats/mod.ts";
import { jobFilter, JOBS_STREAM, lifecycleSubject } from "../protocol/mod.ts";
import { startNatsServer } from "../testing/mod.ts";
import { history, within } from "./job_service.ts";
import { eventually } from "./job_processes.ts";
import {
  assertIsFold,
  caughtUp,
  newestPlace,
  runJobs,
  shop,
  startProjection,
  startShop,
  temporaryFolder,
} from "./projection_world.ts";
import { testOnBothServers } from "./servers.ts";

testOnBothServers(
  "startProjector() keeps the rows equal to the fold while jobs run, and tells how far it is",
  async (server) => {
    await using service = await startShop(server.url);
    await using projection = await startProjection(server.url);
    await runJobs(service, 100);
    await caughtUp(server.url, projection);
    assert.equal(await assertIsFold(server.url, projection.store), 100);
    const { state, lag, sequence, skipped } = projection.projector.health();
    assert.deepEqual({ state, lag, skipped }, { state: "live", lag: 0, skipped: {} });
    assert.equal(sequence, await newestPlace(server.url));
    assert.equal(await projection.store.countJobs({ state: ["dead"] }), 20);
  },
);

testOnBothServers(
  "startProjector() catches up with what happened while it was away",
  async (server) => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "jobs.sqlite");
    await using service = await startShop(server.url);
    for (const round of [1, 2]) {
      await using projection = await startProjection(server.url, { path });
      await caughtUp(server.url, projection);
      await runJobs(service, 20);
      await caughtUp(server.url, projection);
      assert.equal(projection.notes.length, round === 1 ? 1 : 0, projection.notes.join("\n"));
      await projection[Symbol.asyncDispose]();
      await runJobs(service, 30);
    }
    await using projection = await startProjection(server.url, { path });
    await caughtUp(server.url, projection);
    assert.equal(await assertIsFold(server.url, projection.store), 100);
    assert.deepEqual(projection.notes, []);
  },
);

testOnBothServers("startProjector() goes on through a kill of the server", async (server) => {
  await using service = await startShop(server.url);
  await using projection = await startProjection(server.url);
  await runJobs(service, 20);
  await server.kill();
  await eventually(
    "the loss shows",
    () => Promise.resolve(projection.projector.health().state === "failing"),
  );
  await server.restart();
  await runJobs(service, 20);
  await caughtUp(server.url, projection);
  assert.equal(await assertIsFold(server.url, projection.store), 40);
  const { state, failures, lastError } = projection.projector.health();
  assert.equal(state, "live");
  assert.ok(failures > 0 && lastError !== undefined);
  assert.equal(projection.notes.filter((note) => note.startsWith("rebuilding")).length, 1);
});

testOnBothServers(
  "startProjector() builds anew when the stream is another one under the same name",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using folder = await temporaryFolder();
    const path = join(folder.path, "jobs.sqlite");
    const replaceStream = async () => {
      await (await jetstreamManager(nc)).streams.delete(JOBS_STREAM);
      await (await jetstreamManager(nc)).streams.delete("JOBS_WORK");
      await provision(nc).orThrow();
    };
    {
      await using service = await startShop(server.url);
      await using projection = await startProjection(server.url, { path });
      await runJobs(service, 30);
      await caughtUp(server.url, projection);
    }
    await replaceStream();
    {
      await using service = await startShop(server.url);
      await runJobs(service, 10);
      await using projection = await startProjection(server.url, { path });
      await caughtUp(server.url, projection);
      assert.equal(await assertIsFold(server.url, projection.store), 10);
      assert.match(projection.notes.join(), /rebuilding .* made from a stream created at/);
    }
    // And while it runs.
    await using projection = await startProjection(server.url, { path });
    await caughtUp(server.url, projection);
    await replaceStream();
    await using service = await startShop(server.url);
    await runJobs(service, 5);
    await eventually(
      "the new stream is projected",
      async () => await projection.store.countJobs({}) === 5,
    );
    await caughtUp(server.url, projection);
    assert.equal(await assertIsFold(server.url, projection.store), 5);
  },
);

testOnBothServers(
  "startProjector() builds anew when events it has not seen are gone from the stream's beginning",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using folder = await temporaryFolder();
    const path = join(folder.path, "jobs.sqlite");
    await using service = await startShop(server.url);
    {
      await using projection = await startProjection(server.url, { path });
      await runJobs(service, 10);
      await caughtUp(server.url, projection);
    }
    await runJobs(service, 10);
    const place = await newestPlace(server.url);
    await runJobs(service, 10);
    await (await jetstreamManager(nc)).streams.purge(JOBS_STREAM, { seq: place + 1 });
    await using projection = await startProjection(server.url, { path });
    await caughtUp(server.url, projection);
    assert.equal(await assertIsFold(server.url, projection.store), 10);
    assert.match(projection.notes.join(), /the stream now begins at/);
  },
);

testOnBothServers(
  "startProjector() removes an unfinished job that was deleted from the stream while it was away",
  async (server) => {
    await using nc = await connect({ servers: server.url });
    await using folder = await temporaryFolder();
    const path = join(folder.path, "jobs.sqlite");
    // Nobody works here: what is created stays pending.
    await using service = await connectService(shop, { servers: server.url }).orThrow();
    const [deleted, kept] = await Promise.all(
      [1, 2].map((n) => service.jobs.work.create({ n }).orThrow()),
    );
    assert.ok(deleted !== undefined && kept !== undefined);
    {
      await using projection = await startProjection(server.url, { path });
      await caughtUp(server.url, projection);
      assert.equal(await projection.store.countJobs({ state: ["pending"] }), 2);
    }
    await deleted.cancel().orThrow();
    const filter = jobFilter({ service: "shop", jobType: "work", jobId: deleted.id });
    await service.jobs.work.create({ n: 3 }).orThrow();
    await (await jetstreamManager(nc)).streams.purge(JOBS_STREAM, { filter });
    await using projection = await startProjection(server.url, { path });
    await caughtUp(server.url, projection);
    await eventually(
      "the deleted job is gone",
      async () => await projection.store.getJob(deleted.id) === undefined,
    );
    assert.equal(await assertIsFold(server.url, projection.store), 2);
    assert.match(
      projection.notes.join(),
      /removed 1 jobs that were deleted from the stream unseen/,
    );
    await kept.cancel().orThrow();
    await caughtUp(server.url, projection);
    assert.equal((await projection.store.position()).holesAt, undefined);
  },
);

testOnBothServers("startProjector() counts what is no event and goes on", async (server) => {
  await using nc = await connect({ servers: server.url });
  await using service = await startShop(server.url);
  await using projection = await startProjection(server.url);
  const [id = ""] = await runJobs(service, 1);
  const job = { service: "shop", jobType: "work", jobId: id };
  const publish = (subject: string, body: string, header?: MsgHdrs) =>
    nc.request(subject, body, { timeout: 5_000, ...(header && { headers: header }) });
  const started = lifecycleSubject(job, "started");
  const event = (await history(nc, id)).find(({ eventType }) => eventType === "started");
  const foreign = headers();
  foreign.set("Nats-Stream", "JOBS");
  await publish(started, "not json");
  await publish(started, "{}");
  await publish(started, JSON.stringify({ eventType: "teleported" }));
  await publish(started, JSON.stringify(event), foreign);
  await publish(lifecycleSubject(job, "completed"), JSON.stringify(event));
  await publish("trellis.jobs.shop.work.nobody.created", "{}");
  const orphan = { ...event, jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB" };
  await publish(
    lifecycleSubject({ ...job, jobId: orphan.jobId }, "started"),
    JSON.stringify(orphan),
  );
  await runJobs(service, 4);
  await caughtUp(server.url, projection);
  const { state, skipped } = projection.projector.health();
  assert.equal(state, "live");
  assert.deepEqual(skipped, {
    "not-json": 1,
    malformed: 1,
    "unknown-event": 1,
    foreign: 1,
    mismatch: 1,
    subject: 1,
    "no-job": 1,
  });
  assert.equal(await projection.store.countJobs({}), 5);
  await within("rebuild", projection.projector.rebuild("the test asks for it"));
  await caughtUp(server.url, projection);
  assert.equal(await projection.store.countJobs({}), 5);
  assert.deepEqual(projection.projector.health().skipped, skipped);
});

testOnBothServers(
  "startProjector() on a store that another projector writes to fails in sight and doubles nothing",
  async (server) => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "jobs.sqlite");
    await using service = await startShop(server.url);
    await using one = await startProjection(server.url, { path, batch: 7 });
    await using two = await startProjection(server.url, { path, batch: 7 });
    await runJobs(service, 100);
    const place = await newestPlace(server.url);
    await eventually(
      "the rows are there",
      async () => (await one.store.position()).sequence >= place,
    );
    assert.equal(await assertIsFold(server.url, one.store), 100);
    const notes = [...one.notes, ...two.notes].join("\n");
    assert.match(notes, /another projector writes to the same store/);
    assert.ok(one.projector.health().failures + two.projector.health().failures > 0);
  },
);

testOnBothServers("waitFor() and stop() do not wait for a server that is away", async (server) => {
  await using service = await startShop(server.url);
  await using projection = await startProjection(server.url);
  await runJobs(service, 1);
  await caughtUp(server.url, projection);
  const place = await newestPlace(server.url);
  assert.equal(await projection.projector.waitFor(place, 0), true);
  assert.equal(await projection.projector.waitFor(place + 1, 20), false);
  await server.kill();
  const waiting = projection.projector.waitFor(place + 1, 60_000);
  await within("stop", projection.projector.stop(), 5_000);
  assert.equal(await waiting, false);
  assert.equal(projection.projector.health().state, "stopped");
  await server.restart();
});

Deno.test("startProjector() waits for the stream to be made, and says that it is missing", async () => {
  await using server = await startNatsServer();
  await using projection = await startProjection(server.url);
  await eventually(
    "the lack shows",
    () => Promise.resolve(/stream not found/.test(projection.projector.health().lastError ?? "")),
  );
  await using service = await startShop(server.url);
  await runJobs(service, 5);
  await caughtUp(server.url, projection);
  assert.equal(await assertIsFold(server.url, projection.store), 5);
});
