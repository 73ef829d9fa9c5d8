import assert from "node:assert/strict";
import { startNatsServer } from "../../testing/mod.ts";
import { startKeyedProcess } from "../job_processes.ts";
import { within } from "../job_service.ts";
import { connectSync, gate, moment, type SyncService } from "../keyed_service.ts";
import { longTest, VERSIONS } from "../servers.ts";

for (const version of VERSIONS) {
  longTest(
    `a key held for 60 s by a healthy job burns nothing of the 100 that wait behind it [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      await using one = await connectSync(server, { ackWaitMs: 1_000 });
      await using two = await connectSync(server, { ackWaitMs: 1_000 });
      const opened = gate();
      const deliveries = new Set<number>();
      for (const { jobs } of [one, two]) {
        jobs.sync.handle(async ({ job }) => {
          deliveries.add(job.deliveries);
          if (job.payload.n === 0) await opened.opened;
        });
      }
      await Promise.all([one.start().orThrow(), two.start().orThrow()]);
      const refs = await line(one, "c", 101);
      await moment(60_000);
      opened.open();
      for (const ref of refs) {
        const { state, job } = await ref.wait({ timeoutMs: 30_000 }).orThrow();
        assert.equal(state, "completed");
        assert.equal(job.tries, 1);
      }
      assert.deepEqual(deliveries, new Set([1]), "nothing came back");
    },
  );

  longTest(
    `hot keys that fill the waiting room do not keep other keys from idle hands [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      const queue = { maxQueuedPerKey: 1_000 };
      await using service = await connectSync(server, { queue, ackWaitMs: 10_000 });
      const opened = gate();
      const others = new Set<string>();
      const done = gate();
      service.jobs.sync.handle(async ({ job }) => {
        const { customer } = job.payload;
        if (customer.startsWith("hot")) return await opened.opened;
        if (others.add(customer).size === 200) done.open();
      });
      // More than one process keeps in its room, before the others come.
      const hot = [...await line(service, "hot-1", 900), ...await line(service, "hot-2", 900)];
      await service.start().orThrow();
      for (let n = 0; n < 200; n++) await line(service, `cold-${n}`, 1);
      await within("other keys", done.opened, 30_000);
      opened.open();
      for (const ref of hot) {
        const { state, job } = await ref.wait({ timeoutMs: 120_000 }).orThrow();
        assert.equal(state, "completed");
        assert.equal(job.tries, 1);
      }
    },
  );

  longTest(
    `a reservation whose create died frees a full key when its grace is over [${version}]`,
    async () => {
      await using server = await startNatsServer({ version });
      const keyed = { dieBefore: "created", maxQueuedPerKey: 0 } as const;
      await using doomed = await startKeyedProcess({
        url: server.url,
        instanceId: "doomed",
        mode: "hold",
        keyed,
      });
      await doomed.tell({ what: "create" });
      await doomed.status;
      await using service = await connectSync(server, { queue: { maxQueuedPerKey: 0 } });
      const payload = { customer: "c", n: 0 };
      const refused = await service.jobs.sync.create(payload);
      assert.equal(refused.ok === false && refused.error.reason, "active-limit");
      const room = async () => {
        while (!(await service.jobs.sync.create(payload)).ok) await moment(250);
      };
      await within("room", room(), 32_000);
    },
  );
}

async function line({ jobs: { sync } }: SyncService, customer: string, length: number) {
  const payloads = Array.from({ length }, (_, n) => ({ customer, n }));
  const refs = [];
  for (let at = 0; at < length; at += 50) {
    for (const created of await sync.createMany(payloads.slice(at, at + 50))) {
      assert.ok(created.ok, created.ok ? "" : created.error.message);
      refs.push(created.value);
    }
  }
  return refs;
}
