import assert from "node:assert/strict";
import type { JobEvent, JobEventType } from "../protocol/mod.ts";
import { foldBatch, type FoldInput, type StoredEvent } from "./fold_batch.ts";
import type { JobChange, JobRow } from "./job_row.ts";

const jobId = "01JZ6N5V4T8Y3K2QX9W7R5M1AB";

function event(eventType: JobEventType, fields: object = {}): JobEvent {
  // The tests give each type its fields; the compiler cannot follow that.
  return {
    jobId,
    service: "billing",
    jobType: "charge",
    eventType,
    state: "pending",
    context: { requestId: "r", traceId: "t", traceparent: "p" },
    tries: 1,
    timestamp: "2026-01-01T00:00:00.000Z",
    ...fields,
  } as JobEvent;
}

const CREATED = event("created", { payload: { n: 1 }, maxTries: 5, tries: 0 });
const STARTED = event("started", { instanceId: "i1" });

function stored(...events: JobEvent[]): StoredEvent[] {
  return events.map((event, index) => ({
    event,
    sequence: 10 * (index + 1),
    storedAt: `2026-01-01T00:00:0${index}.000Z`,
  }));
}

function foldEvents(events: readonly StoredEvent[], more: Partial<FoldInput> = {}) {
  const empty = { rows: new Map(), logs: new Map(), keepLogs: 3, now: 0 };
  return foldBatch({ ...empty, ...more, events });
}

function only(changes: readonly JobChange[]): JobChange {
  assert.equal(changes.length, 1);
  const [change] = changes;
  assert.ok(change !== undefined);
  return change;
}

/** The row of a job that was created and started. */
function activeRow(): JobRow {
  return only(foldEvents(stored(CREATED, STARTED)).jobs).row;
}

Deno.test("foldBatch() writes a job once, however many of its events are in the batch", () => {
  const { jobs } = foldEvents(stored(CREATED, STARTED, event("completed", { result: [1] })));
  const { before, row, documents } = only(jobs);
  assert.equal(before, undefined);
  assert.equal(row.summary.state, "completed");
  assert.deepEqual(
    [row.firstSequence, row.changedSequence, row.lastSequence, row.changedAt],
    [10, 30, 30, "2026-01-01T00:00:02.000Z"],
  );
  assert.deepEqual(documents, { payload: { n: 1 }, result: [1] });
  assert.equal("payload" in row.summary || "result" in row.summary, false);
});

Deno.test("foldBatch() leaves documents alone that a step does not touch", () => {
  const row = activeRow();
  const rows = new Map([[jobId, row]]);
  const step = only(
    foldEvents(stored(event("progress", { progress: { step: "a" } })), { rows }).jobs,
  );
  assert.deepEqual(step.documents, {});
  assert.equal(step.before, row);
  const end = only(foldEvents(stored(event("completed", { result: null })), { rows }).jobs);
  assert.deepEqual(end.documents, { result: null });
});

Deno.test("foldBatch() drops what a former life left, and only that", () => {
  const rows = new Map([[jobId, activeRow()]]);
  const failed = event("failed", { error: "broke" });
  const retried = event("retried", { payload: "again", maxTries: 2, tries: 0 });
  const { documents, row } = only(foldEvents(stored(failed, retried), { rows }).jobs);
  assert.deepEqual(documents, { drop: true, payload: "again" });
  assert.deepEqual([row.summary.state, row.summary.tries], ["pending", 0]);
});

Deno.test("foldBatch() moves the end of a history also for events that change nothing", () => {
  const row = activeRow();
  const ignored = event("staleCompletionIgnored", {
    error: "late",
    concurrency: { key: "k", keyHash: "h" },
  });
  const { jobs, statistics } = foldEvents([{
    event: ignored,
    sequence: 99,
    storedAt: "2026-02-01T00:00:00.000Z",
  }], { rows: new Map([[jobId, row]]) });
  assert.deepEqual(only(jobs).row, { ...row, lastSequence: 99 });
  assert.deepEqual(statistics, []);
});

Deno.test("foldBatch() counts events without a job and events under another job's id", () => {
  const foreign = event("started", { instanceId: "i1", service: "mail" });
  const { jobs, skipped } = foldEvents(stored(STARTED, CREATED, foreign));
  assert.deepEqual(skipped, { "no-job": 1, "id-taken": 1 });
  assert.equal(only(jobs).row.lastSequence, 20);
});

Deno.test("foldBatch() keeps the newest log lines, and recognises lines that come twice", () => {
  const line = (message: string) => ({
    timestamp: "2026-01-01T00:00:00.000Z",
    level: "info",
    message,
  });
  const logged = (...lines: string[]) => event("logged", { logs: lines.map(line) });
  const first = foldEvents(stored(CREATED, STARTED, logged("a", "b"), logged("c", "d")));
  assert.deepEqual(only(first.jobs).documents.logs, {
    lines: ["b", "c", "d"].map(line),
    dropped: 1,
  });
  const rows = new Map([[jobId, only(first.jobs).row]]);
  const logs = new Map([[jobId, only(first.jobs).documents.logs ?? { lines: [], dropped: 0 }]]);
  const again = foldEvents(stored(logged("c", "d")), { rows, logs });
  assert.equal(only(again.jobs).documents.logs, undefined);
  const more = foldEvents(stored(logged("e")), { rows, logs });
  assert.deepEqual(only(more.jobs).documents.logs, {
    lines: ["c", "d", "e"].map(line),
    dropped: 2,
  });
  const burst = foldEvents(stored(logged("1", "2", "3", "4", "5")), { rows, logs });
  assert.deepEqual(only(burst.jobs).documents.logs?.lines.length, 5);
});
