import assert from "node:assert/strict";
import { serverCapabilities } from "./capabilities.ts";
import { streamDrift } from "./drift.ts";
import { resolveQueue } from "./queue.ts";
import { valueOrThrow } from "./result.ts";
import { type StreamTopology, topology, workConsumer } from "./topology.ts";

function streams(version: string): Map<string, StreamTopology> {
  const capabilities = valueOrThrow(serverCapabilities(version));
  return new Map(topology({ capabilities, replicas: 3 }).map((stream) => [stream.name, stream]));
}

Deno.test("topology() never lets a header erase history, on any stream", () => {
  for (const version of ["2.10.27", "2.15.1"]) {
    for (const stream of streams(version).values()) assert.equal(stream.allow_rollup_hdrs, false);
  }
});

Deno.test("topology() fills the work stream by one source with two transforms", () => {
  const work = streams("2.15.1").get("JOBS_WORK");
  assert.deepEqual(work?.sources, [{
    name: "JOBS",
    subject_transforms: [
      { src: "trellis.jobs.*.*.*.created", dest: "trellis.work.$1.$2" },
      { src: "trellis.jobs.*.*.*.retried", dest: "trellis.work.$1.$2" },
    ],
  }]);
  assert.equal(work.retention, "workqueue");
  assert.equal(work.duplicate_window, 100_000_000);
});

Deno.test("topology() refuses at a limit and remembers message ids as long as the server needs", () => {
  const [old, now] = [streams("2.10.27").get("JOBS"), streams("2.15.1").get("JOBS")];
  assert.equal(old?.discard, "new");
  assert.equal(old.duplicate_window, 120_000_000_000);
  assert.equal(old.allow_atomic, undefined);
  assert.equal(now?.allow_atomic, true);
  assert.ok(now.duplicate_window < old.duplicate_window);
});

Deno.test("workConsumer() has no backoff and a backstop far above the tries", () => {
  const settings = resolveQueue("charge", { maxDeliver: 3, ackWaitMs: 5_000 });
  const consumer = workConsumer({ service: "billing", jobType: "charge" }, settings);
  assert.deepEqual(consumer, {
    durable_name: "billing-charge",
    filter_subject: "trellis.work.billing.charge",
    ack_policy: "explicit",
    ack_wait: 5_000_000_000,
    max_deliver: 1_003,
    max_ack_pending: 100_000,
    deliver_policy: "all",
    replay_policy: "instant",
  });
});

Deno.test("streamDrift() overlooks what the server adds or leaves out, and nothing else", () => {
  const work = streams("2.15.1").get("JOBS_WORK");
  assert.ok(work);
  const { allow_rollup_hdrs: _, ...leftOut } = work;
  const added = {
    ...leftOut,
    max_msgs: -1,
    description: "another",
    sources: work.sources?.map((source) => ({ ...source, external: null })),
  };
  assert.deepEqual(streamDrift(added, work), []);
  const fields = streamDrift(
    { ...added, allow_rollup_hdrs: true, subjects: ["x"], sources: [] },
    work,
  )
    .map(({ field }) => field);
  assert.deepEqual(fields.sort(), ["allow_rollup_hdrs", "sources", "subjects"]);
});
