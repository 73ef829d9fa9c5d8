/** What a handler can say: again later, not yet, never. */

import { z } from "zod";
import { connectService, defineJobs, JobFailed, RetryAfter, Snooze } from "../mod.ts";
import { exampleServer, say } from "./_server.ts";

const mail = defineJobs("mail", {
  send: {
    payload: z.object({ to: z.string() }),
    maxDeliver: 3,
    backoffMs: { policy: "exponential", firstMs: 50, maxMs: 1_000 },
  },
});

await using server = await exampleServer();
await using service = await connectService(mail, { servers: server.url }).orThrow();

let opensAt = 0;
service.jobs.send.handle(({ job }) => {
  const { to } = job.payload;
  if (to === "flaky" && job.tries === 1) throw new Error("the connection broke");
  if (to === "busy" && job.tries === 1) throw new RetryAfter(100, "greylisted");
  if (to === "closed" && Date.now() < (opensAt ||= Date.now() + 150)) throw new Snooze(100);
  if (to === "nobody") throw new JobFailed("there is no such mailbox");
  if (to === "down") throw new Error("the server is down");
});
await service.start().orThrow();

for (const to of ["fine", "flaky", "busy", "closed", "nobody", "down"]) {
  const ref = await service.jobs.send.create({ to }).orThrow();
  const { state, job } = await ref.wait({ timeoutMs: 30_000 }).orThrow();
  say(
    `${to}: ${state} after ${job.tries} of ${job.maxTries} tries (${job.lastError ?? "no error"})`,
  );
}

// An operator puts the dead job back to work; it has all its tries again.
const dead = await service.jobs.send.create({ to: "down" }, { maxTries: 1 }).orThrow();
await dead.wait().orThrow();
const address = { service: "mail", jobType: "send", jobId: dead.id };
const replayed = await service.commands.replay(address, { actor: "the example" }).orThrow();
say(`replayed: ${replayed.state} with ${replayed.tries} tries used`);
