/** Conformance: what the janitor, retention, keys, workers and plots ask for. */

import assert from "node:assert/strict";
import type { StoreCheck } from "./conformance.ts";
import { BEGIN_MS, createFeeder, subject } from "./_conformance_events.ts";
import type { JobRow } from "./job_row.ts";

const at = (second: number) => new Date(BEGIN_MS + second * 1_000).toISOString();
const ids = (rows: readonly JobRow[]) => rows.map(({ summary }) => summary.id);
const key = (text: string, hash: string) => ({
  concurrency: { key: text, keyHash: hash.repeat(64) },
});

/** The checks. */
export const searchChecks: readonly StoreCheck[] = [
  {
    name: "listDue() gives unfinished jobs whose deadline has come, the earliest first",
    async run(store) {
      const feeder = createFeeder(store);
      const [late, early, done, never, future] = [1, 2, 3, 4, 5].map((number) => subject(number));
      feeder.add(late ?? subject(1), "created", { deadline: at(20) });
      feeder.add(early ?? subject(2), "created", { deadline: at(10) });
      feeder.add(done ?? subject(3), "created", { deadline: at(5) });
      feeder.add(never ?? subject(4), "created");
      feeder.add(future ?? subject(5), "created", { deadline: at(21) });
      feeder.add(done ?? subject(3), "cancelled");
      await feeder.feed();
      assert.deepEqual(ids(await store.listDue(at(20), 10)), [early?.jobId, late?.jobId]);
      assert.deepEqual(ids(await store.listDue(at(20), 1)), [early?.jobId]);
      assert.deepEqual(await store.listDue(at(9), 10), []);
    },
  },
  {
    name:
      "listUnfinished() gives jobs that have not ended, the oldest change first, from a place on",
    async run(store) {
      const feeder = createFeeder(store);
      for (const number of [1, 2, 3, 4]) feeder.add(subject(number), "created");
      feeder.add(subject(1), "started");
      feeder.add(subject(2), "cancelled");
      await feeder.feed();
      const all = [3, 4, 1].map((number) => subject(number).jobId);
      assert.deepEqual(ids(await store.listUnfinished(0, 10)), all);
      assert.deepEqual(ids(await store.listUnfinished(0, 2)), all.slice(0, 2));
      assert.deepEqual(ids(await store.listUnfinished(4, 10)), all.slice(2));
    },
  },
  {
    name: "listEnded() gives finished jobs by the age that each state is given",
    async run(store) {
      const feeder = createFeeder(store);
      for (const number of [1, 2, 3, 4]) feeder.add(subject(number), "created"); // seconds 1 to 4
      feeder.add(subject(1), "started");
      feeder.add(subject(1), "completed"); // 6
      feeder.add(subject(2), "failed"); // 7
      feeder.add(subject(3), "failed"); // 8
      await feeder.feed();
      const gone = async (before: Parameters<typeof store.listEnded>[0], limit = 10) =>
        ids(await store.listEnded(before, limit)).toSorted();
      const [one, two, three] = [1, 2, 3].map((number) => subject(number).jobId);
      assert.deepEqual(await gone({}), []);
      assert.deepEqual(await gone({ completed: at(5), failed: at(6) }), []);
      assert.deepEqual(await gone({ completed: at(6) }), [one]);
      assert.deepEqual(await gone({ completed: at(100), failed: at(7) }), [one, two]);
      assert.deepEqual(await gone({ completed: at(100), failed: at(100) }), [one, two, three]);
      assert.equal((await gone({ completed: at(100), failed: at(100) }, 2)).length, 2);
    },
  },
  {
    name: "oldestPending() gives one job per queue, and counts a retried job from its retry on",
    async run(store) {
      const feeder = createFeeder(store);
      const mail = subject(3, "mail", "send");
      feeder.add(subject(1), "created");
      feeder.add(subject(2), "created"); // second 2
      feeder.add(mail, "created"); // 3
      feeder.add(subject(1), "failed");
      feeder.add(subject(1), "retried");
      await feeder.feed();
      const found = (await store.oldestPending()).toSorted((a, b) =>
        a.service < b.service ? -1 : 1
      );
      assert.deepEqual(found, [
        { service: "billing", type: "charge", id: subject(2).jobId, pendingSince: at(2) },
        { service: "mail", type: "send", id: mail.jobId, pendingSince: at(3) },
      ]);
    },
  },
  {
    name: "findKeys() finds by display key all hashes that share it, and by hash one",
    async run(store) {
      const feeder = createFeeder(store);
      feeder.add(subject(1), "created", key("tenant:42", "a"));
      feeder.add(subject(2), "created", key("tenant:42", "b"));
      feeder.add(subject(3), "created", key("tenant:42", "a"));
      feeder.add(subject(4), "created", key("tenant:7\u0000x", "c"));
      feeder.add(subject(5, "mail", "send"), "created", key("tenant:42", "d"));
      feeder.add(subject(1), "cancelled");
      feeder.add(subject(2), "cancelled");
      await feeder.feed();
      const queue = { service: "billing", type: "charge" };
      const shown = async (query: Parameters<typeof store.findKeys>[0]) =>
        (await store.findKeys(query)).map(({ key, keyHash, unfinished }) =>
          [key, keyHash[0], ids(unfinished)] as const
        );
      const three = subject(3).jobId;
      assert.deepEqual(await shown({ ...queue, key: "tenant:42" }), [
        ["tenant:42", "a", [three]],
        ["tenant:42", "b", []],
      ]);
      assert.deepEqual(await shown({ ...queue, keyHash: "a".repeat(64) }), [
        ["tenant:42", "a", [three]],
      ]);
      assert.deepEqual(await shown({ ...queue, key: "tenant:7\u0000x" }), [
        ["tenant:7\u0000x", "c", [subject(4).jobId]],
      ]);
      assert.deepEqual(await shown({ ...queue, key: "nobody" }), []);
      assert.deepEqual(await shown({ ...queue, keyHash: "d".repeat(64) }), []);
      await assert.rejects(store.findKeys(queue), RangeError);
    },
  },
  {
    name: "savePresence() keeps the newest heartbeat of a worker and forgets old workers",
    async run(store) {
      const seen = (instanceId: string, second: number, concurrency: number) => ({
        heartbeat: {
          service: "billing",
          jobType: "charge",
          instanceId,
          concurrency,
          timestamp: at(0),
        },
        seenAt: at(second),
      });
      await store.savePresence([seen("i1", 10, 1), seen("i2", 20, 1)], at(0));
      await store.savePresence([seen("i1", 30, 2), seen("i2", 5, 9)], at(0));
      assert.deepEqual(await store.listWorkers({}), [seen("i1", 30, 2), seen("i2", 20, 1)]);
      assert.deepEqual(await store.listWorkers({ seenSince: at(25) }), [seen("i1", 30, 2)]);
      assert.deepEqual(await store.listWorkers({ service: "mail" }), []);
      await store.savePresence([], at(25));
      assert.deepEqual(await store.listWorkers({}), [seen("i1", 30, 2)]);
    },
  },
  {
    name: "readStatistics() adds up events and durations per span, per queue, service and in all",
    async run(store) {
      const feeder = createFeeder(store);
      const mail = subject(2, "mail", "send");
      for (const job of [subject(1), mail]) feeder.add(job, "created");
      feeder.add(subject(1), "started");
      await feeder.feed();
      feeder.add(subject(1), "completed");
      for (let filler = 0; filler < 60; filler++) {
        feeder.add(mail, "staleCompletionIgnored", key("k", "a"));
      }
      feeder.add(mail, "cancelled");
      await feeder.feed();
      const range = { resolution: "minute", from: at(0), to: at(600) } as const;
      const all = await store.readStatistics(range);
      assert.deepEqual(all.map(({ at, events }) => [at, events]), [
        [at(0), { created: 2, started: 1, completed: 1 }],
        [at(60), { cancelled: 1 }],
      ]);
      // created at 1 s, started at 3 s, completed at 4 s
      assert.deepEqual(all[0]?.wait, { count: 1, sumMs: 2_000, sizes: { "22": 1 } });
      assert.deepEqual(all[0]?.run, { count: 1, sumMs: 1_000, sizes: { "20": 1 } });
      const queue = await store.readStatistics({ ...range, service: "mail", type: "send" });
      assert.deepEqual(queue.map(({ events }) => events), [{ created: 1 }, { cancelled: 1 }]);
      const hours = await store.readStatistics({ ...range, resolution: "hour", service: "mail" });
      assert.deepEqual(hours.map(({ events }) => events), [{ created: 1, cancelled: 1 }]);
      await store.trimStatistics({ minute: at(60), hour: at(0) });
      assert.deepEqual((await store.readStatistics(range)).map(({ at }) => at), [at(60)]);
      assert.equal((await store.readStatistics({ ...range, resolution: "hour" })).length, 1);
    },
  },
];
