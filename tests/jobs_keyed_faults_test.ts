import assert from "node:assert/strict";
import type { NatsServer } from "../testing/mod.ts";
import { countOf, readHistory } from "./history.ts";
import { type JobProcess, type Settings, startKeyedProcess } from "./job_processes.ts";
import { ended, within } from "./job_service.ts";
import {
  connectSync,
  gate,
  moment,
  type SyncOptions,
  untilKey,
  watchOverlap,
} from "./keyed_service.ts";
import { testOnBothServers } from "./servers.ts";

const PAYLOAD = { customer: "c", n: 0 };
/** Short leases, so that what they bound is seen soon; a delivery comes back before its lease ends. */
const QUEUE = { ackWaitMs: 1_000, keys: { heartbeatIntervalMs: 300, heartbeatTtlMs: 1_900 } };
/** What a dead owner's key waits for at most: its lease, and what clocks may differ. */
const LEASE_BOUND_MS = 1_900 + 1_000;

function process(
  server: NatsServer,
  keyed: Settings["keyed"],
  mode: Settings["mode"] = "hold",
): Promise<JobProcess> {
  const [ackWaitMs, heartbeatIntervalMs, heartbeatTtlMs] = [1_000, 300, 1_900];
  return startKeyedProcess({
    url: server.url,
    instanceId: "doomed",
    mode,
    keyed: { ackWaitMs, heartbeatIntervalMs, heartbeatTtlMs, ...keyed },
  });
}

testOnBothServers(
  "create() in a process that dies after its reservation, or before its answer, locks no key",
  async (server) => {
    for (const dieBefore of ["created", "answer"] as const) {
      await using doomed = await process(server, { dieBefore });
      await doomed.tell({ what: "create" });
      assert.equal((await doomed.status).signal, "SIGKILL");
    }
    await using service = await connectSync(server, QUEUE);
    service.jobs.sync.handle(() => {});
    await service.start().orThrow();
    const ref = await service.jobs.sync.create(PAYLOAD).orThrow();
    // The reservation stands before it in line, and nobody claims it.
    const { state } = await within("end", ref.wait().orThrow(), 2_000 + 2_000);
    assert.equal(state, "completed");
    const history = await readHistory(server.url);
    assert.equal(history.size, 2, "the one that had reached the server, and ours");
    for (const { job } of history.values()) assert.equal(job?.state, "completed");
  },
);

for (const dieBefore of ["started", "release", "ack"] as const) {
  testOnBothServers(
    `handle() in a process that dies before its ${dieBefore} leaves the key to the next`,
    async (server) => {
      await using service = await connectSync(server, QUEUE);
      const first = await service.jobs.sync.create(PAYLOAD).orThrow();
      const second = await service.jobs.sync.create(PAYLOAD).orThrow();
      await using doomed = await process(server, { dieBefore });
      await doomed.tell({ what: "start" });
      await doomed.tell({ what: "release" });
      assert.equal((await doomed.status).signal, "SIGKILL");
      const overlap = watchOverlap();
      service.jobs.sync.handle(() => overlap.run("c", () => moment(5)));
      await service.start().orThrow();
      const bound = QUEUE.ackWaitMs + LEASE_BOUND_MS + 2_000;
      for (const ref of [first, second]) {
        const { state } = await within("end", ref.wait().orThrow(), bound);
        assert.equal(state, "completed");
      }
      assert.ok(overlap.most() <= 1);
      const history = await readHistory(server.url);
      assert.equal(countOf(history.get(first.id), "completed"), 1);
      await untilKey(service, "c", "empty key", (view) => view === undefined, bound);
    },
  );
}

testOnBothServers(
  "handle() in a frozen process loses its lease: aborted, ignored, counted, and the other ran alone",
  async (server) => {
    // The lease ends long before the delivery comes back.
    const options: SyncOptions = { ...QUEUE, ackWaitMs: 30_000 };
    // With one hand, which is busy, it does not take the second job with it.
    await using frozen = await process(server, { ackWaitMs: 30_000, concurrency: 1 });
    await using service = await connectSync(server, options, { instanceId: "heir" });
    const begun = gate();
    const opened = gate();
    service.jobs.sync.handle(async () => {
      begun.open();
      await opened.opened;
    });
    await frozen.tell({ what: "start" });
    const first = await service.jobs.sync.create(PAYLOAD).orThrow();
    await frozen.heard("running", first.id);
    await service.start().orThrow();
    const second = await service.jobs.sync.create(PAYLOAD).orThrow();
    frozen.freeze("SIGSTOP");
    await within("takeover", begun.opened, LEASE_BOUND_MS + 2_000);
    const view = await service.jobs.sync.viewKey(PAYLOAD).orThrow();
    assert.equal(view?.staleTakeoverCount, 1);
    assert.deepEqual(view?.active.map(({ instanceId }) => instanceId), ["heir"]);
    frozen.freeze("SIGCONT");
    const told = await within("abort", frozen.heard("aborted", first.id));
    assert.equal(told.outcome, "lease-lost");
    await frozen.tell({ what: "release" });
    const stale = await ended(first);
    assert.equal(stale.state, "stale");
    const ignored = async () => {
      while (
        countOf((await readHistory(server.url)).get(first.id), "staleCompletionIgnored") === 0
      ) {
        await moment(50);
      }
    };
    await within("ignored completion", ignored());
    opened.open();
    assert.equal((await ended(second)).state, "completed");
    const history = (await readHistory(server.url)).get(first.id);
    assert.equal(countOf(history, "completed"), 0);
    assert.equal(history?.job?.concurrency?.staleTakeoverCount, 1);
  },
);

testOnBothServers(
  "stalePolicy block keeps the key of a dead owner until releaseKey() frees it",
  async (server) => {
    const queue = { maxQueuedPerKey: 1 };
    const keys = { ...QUEUE.keys, stalePolicy: "block" } as const;
    await using service = await connectSync(server, { ackWaitMs: 60_000, keys, queue });
    await using doomed = await process(server, {
      ackWaitMs: 60_000,
      stalePolicy: "block",
      maxQueuedPerKey: 1,
    });
    await doomed.tell({ what: "start" });
    const first = await service.jobs.sync.create(PAYLOAD).orThrow();
    await doomed.heard("running", first.id);
    await doomed.signal("SIGKILL");
    await doomed.status;
    service.jobs.sync.handle(() => {});
    await service.start().orThrow();
    const second = await service.jobs.sync.create(PAYLOAD).orThrow();
    const bound = LEASE_BOUND_MS + 1_000;
    await untilKey(service, "c", "blocked key", (view) => view?.blocked === true, bound);
    const refused = await service.jobs.sync.create(PAYLOAD);
    assert.equal(refused.ok === false && refused.error.reason, "stale-blocked");
    assert.equal((await second.get().orThrow()).state, "pending");
    const freed = await service.jobs.sync.releaseKey(PAYLOAD, { actor: "ann" }).orThrow();
    assert.deepEqual(freed, [first.id]);
    assert.equal((await ended(second)).state, "completed");
    const stale = await ended(first);
    assert.equal(stale.state, "stale");
    assert.equal(stale.job.actor, "ann");
  },
);
