import assert from "node:assert/strict";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { connectService, defineJobs } from "../mod.ts";
import { ended, history, numbered } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

const queues = defineJobs("losses", { work: { payload: numbered } });

/** The connection with one method done otherwise. */
function withMethod<Name extends "publish" | "subscribe">(
  nc: NatsConnection,
  method: Name,
  replacement: NatsConnection[Name],
): NatsConnection {
  return new Proxy(nc, {
    get(target, name) {
      if (name === method) return replacement;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

testOnBothServers("wait() sees the end also when nothing of it is heard", async (server) => {
  await using nc = await connect({ servers: server.url });
  const deaf = withMethod(nc, "subscribe", (subject, options = {}) => {
    const lost = subject.startsWith("trellis.jobs.");
    return nc.subscribe(subject, lost ? { ...options, callback: () => {} } : options);
  });
  await using worker = await connectService(queues, { servers: server.url }).orThrow();
  await using waiter = await connectService(queues, { connection: deaf }).orThrow();
  const finish = Promise.withResolvers<void>();
  worker.jobs.work.handle(() => finish.promise);
  await worker.start().orThrow();
  const ref = await waiter.jobs.work.create({ n: 1 }).orThrow();
  const end = ended(ref);
  await worker.jobs.work.ref(ref.id).get().orThrow();
  finish.resolve();
  assert.equal((await end).state, "completed");
});

/** Runs one job while the server's first answer to this event goes nowhere. */
async function loseAnswer(url: string, eventType: "created" | "started" | "completed") {
  await using nc = await connect({ servers: url });
  let lost = 0;
  const lossy = withMethod(nc, "publish", (subject, payload, options) => {
    const lose = lost === 0 && subject.endsWith(`.${eventType}`);
    if (lose) lost++;
    nc.publish(subject, payload, lose ? { ...options, reply: "_INBOX.nobody" } : options);
  });
  const own = defineJobs(`loses-${eventType}`, { work: { payload: numbered } });
  await using service = await connectService(own, { connection: lossy }).orThrow();
  let runs = 0;
  service.jobs.work.handle(() => void runs++);
  await service.start().orThrow();
  const ref = await service.jobs.work.create({ n: 1 }).orThrow();
  const { state, job } = await ended(ref);
  assert.deepEqual([lost, state, job.tries, runs], [1, "completed", 1, 1], eventType);
  const events = await history(nc, ref.id);
  const stored = events.map((event) => event.eventType);
  assert.deepEqual(stored, ["created", "started", "completed"], eventType);
}

testOnBothServers(
  "created, started and completed are stored once, and run once, when the answer is lost",
  async ({ url }) => {
    await Promise.all([
      loseAnswer(url, "created"),
      loseAnswer(url, "started"),
      loseAnswer(url, "completed"),
    ]);
  },
);
