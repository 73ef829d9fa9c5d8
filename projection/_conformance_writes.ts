/** Conformance: what is written is there, all of it or nothing. */

import assert from "node:assert/strict";
import { fold, type Job } from "../protocol/mod.ts";
import type { StoreCheck } from "./conformance.ts";
import { createFeeder, type Feeder, STREAM, subject } from "./_conformance_events.ts";
import type { ProjectionStore } from "./store.ts";

/** What the fold says of a job that was fed. */
function folded(feeder: Feeder, jobId: string): Job | undefined {
  return fold(feeder.events.map(({ event }) => event).filter((event) => event.jobId === jobId));
}

async function assertFolded(store: ProjectionStore, feeder: Feeder, jobId: string): Promise<void> {
  assert.deepEqual((await store.getJob(jobId))?.job, folded(feeder, jobId));
}

const HOSTILE = {
  script: "<script>alert(1)</script>",
  quotes: `'"\`;-- DROP TABLE jobs_projection`,
  control: "\u0000\u0001\u001b[31m\r\n",
  surrogates: "\ud83d\ude00 \ud800",
  "__proto__x": { constructor: null },
  deep: JSON.parse("[".repeat(2_000) + "]".repeat(2_000)),
  long: "x".repeat(1_000_000),
};

/** The checks. */
export const writeChecks: readonly StoreCheck[] = [
  {
    name: "an empty store has position 0 and nothing else",
    async run(store) {
      assert.deepEqual(await store.position(), { sequence: 0, skipped: {}, revision: 0 });
      assert.equal(await store.getJob(subject(1).jobId), undefined);
      assert.deepEqual(await store.listJobs({ limit: 500 }), { entries: [], count: 0 });
      assert.deepEqual(await store.countQueues(), []);
      assert.deepEqual(await store.readRows([subject(1).jobId]), [null]);
      assert.deepEqual(await store.readDocuments([subject(1).jobId]), [null]);
    },
  },
  {
    name: "commit() stores rows, documents and position together",
    async run(store) {
      const feeder = createFeeder(store);
      const [one, two] = [subject(1), subject(2)];
      feeder.add(one, "created");
      feeder.add(two, "created", { payload: null, deadline: "2026-02-01T00:00:00.000Z" });
      await feeder.feed();
      feeder.add(one, "started");
      feeder.add(one, "completed");
      await feeder.feed();
      await assertFolded(store, feeder, one.jobId);
      await assertFolded(store, feeder, two.jobId);
      const { sequence, stream, revision } = await store.position();
      assert.deepEqual({ sequence, stream }, { sequence: 4, stream: STREAM });
      assert.ok(revision >= 2);
      const [row] = await store.readRows([one.jobId]);
      assert.deepEqual(
        [row?.firstSequence, row?.lastSequence, row?.changedSequence, row?.changedAt],
        [1, 4, 4, "2026-01-01T00:00:04.000Z"],
      );
    },
  },
  {
    name: "commit() on another revision changes nothing and says conflict",
    async run(store) {
      const feeder = createFeeder(store);
      feeder.add(subject(1), "created");
      await feeder.feed();
      const position = await store.position();
      const late = {
        expectedRevision: position.revision - 1,
        position: { stream: STREAM, sequence: 9 },
        jobs: [],
        statistics: [],
        skipped: { malformed: 1 },
      };
      assert.deepEqual(await store.commit(late), { kind: "conflict" });
      assert.deepEqual(await store.reset(position.revision - 1, { sequence: 0 }), {
        kind: "conflict",
      });
      assert.deepEqual(await store.position(), position);
      assert.equal(await store.countJobs({}), 1);
    },
  },
  {
    name: "commit() that fails half way leaves everything as it was",
    async run(store) {
      const feeder = createFeeder(store);
      feeder.add(subject(1), "created");
      await feeder.feed();
      const position = await store.position();
      const [row] = await store.readRows([subject(1).jobId]);
      assert.ok(row !== undefined && row !== null);
      const other = { ...row.summary, id: subject(2).jobId };
      const step = {
        expectedRevision: position.revision,
        position: { stream: STREAM, sequence: 9 },
        statistics: [],
        skipped: { malformed: 1 },
      };
      const added = {
        row: { ...row, summary: other, firstSequence: 8 },
        documents: { payload: 1 },
      };
      // A job that is there cannot be added.
      const twice = { row: { ...row, firstSequence: 9 }, documents: { payload: 2 } };
      await assert.rejects(store.commit({ ...step, jobs: [added, twice] }));
      assert.deepEqual(await store.position(), position);
      assert.deepEqual(await store.readRows([other.id]), [null]);
      assert.equal(await store.countJobs({}), 1);
      assert.equal((await store.commit({ ...step, jobs: [added] })).kind, "stored");
      assert.equal(await store.countJobs({}), 2);
    },
  },
  {
    name: "commit() counts skipped messages by reason",
    async run(store) {
      for (const revision of [0, 1]) {
        await store.commit({
          expectedRevision: revision,
          position: { stream: STREAM, sequence: revision + 1 },
          jobs: [],
          statistics: [],
          skipped: { malformed: 2 },
        });
      }
      assert.deepEqual((await store.position()).skipped, { malformed: 4 });
    },
  },
  {
    name: "documents stay until they change, and a new life drops those of the former",
    async run(store) {
      const feeder = createFeeder(store);
      const job = subject(1);
      const line = { timestamp: "2026-01-01T00:00:00.000Z", level: "info", message: "one" };
      for (
        const [eventType, fields] of [
          ["created", { payload: [1, 2, 3] }],
          ["started", {}],
          ["logged", { logs: [line] }],
          ["progress", {}],
          ["logged", { logs: [{ ...line, message: "two" }] }],
          ["failed", {}],
          ["retried", { payload: "again" }],
          ["started", {}],
          ["completed", { result: null }],
        ] as const
      ) {
        feeder.add(job, eventType, fields);
        await feeder.feed();
        await assertFolded(store, feeder, job.jobId);
      }
      const [documents] = await store.readDocuments([job.jobId]);
      assert.deepEqual(documents, { payload: "again", result: null, droppedLogs: 0 });
    },
  },
  {
    name: "hostile text, deep nesting and a megabyte come back as they went in",
    async run(store) {
      const feeder = createFeeder(store);
      const job = subject(1);
      feeder.add(job, "created", { payload: HOSTILE });
      feeder.add(job, "started");
      feeder.add(job, "failed", { error: HOSTILE.control + HOSTILE.script });
      await feeder.feed();
      const found = await store.getJob(job.jobId);
      assert.equal(JSON.stringify(found?.job.payload), JSON.stringify(HOSTILE));
      assert.equal(found?.job.lastError, HOSTILE.control + HOSTILE.script);
      const { entries } = await store.listJobs({ limit: 1 });
      assert.equal(entries[0]?.summary.lastError, HOSTILE.control + HOSTILE.script);
    },
  },
  {
    name: "forgetJobs() removes rows only as they were seen, and makes a decided write start over",
    async run(store) {
      const feeder = createFeeder(store);
      const [one, two] = [subject(1), subject(2)];
      for (const job of [one, two]) feeder.add(job, "created");
      await feeder.feed();
      const { revision } = await store.position();
      const seen = [{ id: one.jobId, lastSequence: 1 }, { id: two.jobId, lastSequence: 1 }];
      assert.deepEqual(await store.forgetJobs(seen), [one.jobId]);
      assert.equal(await store.getJob(one.jobId), undefined);
      assert.deepEqual(await store.readDocuments([one.jobId]), [null]);
      assert.equal(await store.countJobs({}), 1);
      const { revision: next, sequence } = await store.position();
      assert.ok(next > revision);
      assert.equal(sequence, 2);
    },
  },
  {
    name: "reset() empties jobs, counts, statistics and skipped, and keeps presence",
    async run(store) {
      const feeder = createFeeder(store);
      feeder.add(subject(1), "created");
      await feeder.feed();
      const heartbeat = { service: "billing", jobType: "charge", instanceId: "i1" };
      const seenAt = "2026-01-01T00:00:00.000Z";
      await store.savePresence(
        [{ heartbeat: { ...heartbeat, timestamp: seenAt }, seenAt }],
        seenAt,
      );
      const { revision } = await store.position();
      const outcome = await store.reset(revision, { stream: "another", sequence: 0, rebuildTo: 9 });
      assert.equal(outcome.kind, "stored");
      const { revision: next, ...position } = await store.position();
      assert.deepEqual(position, { stream: "another", sequence: 0, rebuildTo: 9, skipped: {} });
      assert.ok(next > revision);
      assert.equal(await store.countJobs({}), 0);
      assert.deepEqual(await store.countQueues(), []);
      const all = { from: "2025-01-01T00:00:00.000Z", to: "2027-01-01T00:00:00.000Z" };
      assert.deepEqual(await store.readStatistics({ ...all, resolution: "hour" }), []);
      assert.equal((await store.listWorkers({})).length, 1);
    },
  },
];
