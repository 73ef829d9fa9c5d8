/** Conformance: every list, compared with what filtering all rows by hand gives. */

import assert from "node:assert/strict";
import { JOB_STATES } from "../protocol/mod.ts";
import type { StoreCheck } from "./conformance.ts";
import { BEGIN_MS, createFeeder, type Feeder, subject } from "./_conformance_events.ts";
import type { JobFilter, JobQuery } from "./job_query.ts";
import type { JobRow } from "./job_row.ts";
import type { ProjectionStore } from "./store.ts";

const JOBS = 120;
/** Wide enough that the events lie over tens of thousands of places. */
const STRIDE = 97;

/** Jobs of four queues in many states, changed in another order than they were created. */
async function fill(store: ProjectionStore): Promise<Feeder> {
  const feeder = createFeeder(store, STRIDE);
  const jobs = Array.from(
    { length: JOBS },
    (_, index) =>
      subject(index, index % 3 === 0 ? "billing" : "mail", index % 2 ? "charge" : "send"),
  );
  for (const job of jobs) feeder.add(job, "created");
  await feeder.feed();
  const ends = ["completed", "failed", "dead", "cancelled", "retry"] as const;
  for (let index = 0; index < JOBS; index++) {
    // 7 and 120 have no common divisor, so every job has its turn.
    const job = jobs[(index * 7) % JOBS] ?? subject(0);
    if (index % 6 === 5) continue;
    feeder.add(job, "started");
    feeder.add(job, ends[index % 5] ?? "failed");
    if (index % 10 === 0) await feeder.feed();
  }
  await feeder.feed();
  return feeder;
}

async function allRows(store: ProjectionStore): Promise<JobRow[]> {
  const rows = await store.readRows(
    Array.from({ length: JOBS }, (_, index) => subject(index).jobId),
  );
  return rows.flatMap((row) => row === null ? [] : [row])
    .sort((a, b) => b.changedSequence - a.changedSequence);
}

function matches({ summary, changedAt }: JobRow, filter: JobFilter): boolean {
  return (filter.service ?? summary.service) === summary.service &&
    (filter.type ?? summary.type) === summary.type &&
    (filter.state === undefined || filter.state.includes(summary.state)) &&
    (filter.since === undefined || Date.parse(changedAt) >= Date.parse(filter.since));
}

function filters(): JobFilter[] {
  const states = [undefined, [], ["pending"], ["failed", "dead"], [...JOB_STATES]] as const;
  const instants = [undefined, 0, 60, 200, 10_000];
  return [undefined, "billing", "mail", "nobody"].flatMap((service) =>
    [undefined, "charge", "nothing"].flatMap((type) =>
      states.flatMap((state) =>
        instants.map((second): JobFilter => ({
          ...(service !== undefined && { service }),
          ...(type !== undefined && { type }),
          ...(state !== undefined && { state }),
          ...(second !== undefined &&
            { since: new Date(BEGIN_MS + second * 1_000).toISOString() }),
        }))
      )
    )
  );
}

/** The checks. */
export const listChecks: readonly StoreCheck[] = [
  {
    name: "listJobs() gives any page of any filter, newest change first, and the whole count",
    async run(store) {
      await fill(store);
      const rows = await allRows(store);
      assert.equal(rows.length, JOBS);
      for (const filter of filters()) {
        const expected = rows.filter((row) => matches(row, filter));
        assert.equal(await store.countJobs(filter), expected.length);
        for (const offset of [0, 1, 50, 119, 120]) {
          const page = await store.listJobs({ ...filter, limit: 25, offset });
          const shown = JSON.stringify({ ...filter, offset });
          assert.deepEqual(page.entries, expected.slice(offset, offset + 25), shown);
          assert.equal(page.count, expected.length, shown);
          const last = page.entries.at(-1)?.changedSequence;
          const more = expected.length > offset + 25;
          assert.equal(page.nextCursor, more ? String(last) : undefined, shown);
        }
      }
    },
  },
  {
    name: "listJobs() reaches every row once by cursor",
    async run(store) {
      await fill(store);
      for (const filter of [{}, { service: "mail" }, { state: ["failed", "dead"] }] as const) {
        const expected = (await allRows(store)).filter((row) => matches(row, filter));
        const found: JobRow[] = [];
        for (let query: JobQuery | undefined = { ...filter, limit: 7 }; query !== undefined;) {
          const { entries, nextCursor, count } = await store.listJobs(query);
          assert.equal(count, expected.length);
          found.push(...entries);
          query = nextCursor === undefined
            ? undefined
            : { ...filter, limit: 7, cursor: nextCursor };
        }
        assert.deepEqual(found, expected);
      }
    },
  },
  {
    name: "listJobs() refuses what cannot be a page",
    async run(store) {
      const wrong: JobQuery[] = [
        { limit: 0 },
        { limit: 501 },
        { limit: 1.5 },
        { limit: 1, offset: -1 },
        { limit: 1, offset: 100_001 },
        { limit: 1, cursor: "x" },
        { limit: 1, cursor: "7", offset: 1 },
        { limit: 1, since: "yesterday" },
      ];
      for (const query of wrong) {
        await assert.rejects(store.listJobs(query), RangeError, JSON.stringify(query));
      }
      await assert.rejects(store.countJobs({ since: "yesterday" }), RangeError);
    },
  },
  {
    name: "countQueues() follows every change and every removal",
    async run(store) {
      await fill(store);
      const rows = await allRows(store);
      await assertCounts(store, rows);
      const gone = rows.filter((_, index) => index % 3 === 0);
      await store.forgetJobs(
        gone.map(({ summary: { id }, lastSequence }) => ({ id, lastSequence })),
      );
      const left = rows.filter((row) => !gone.includes(row));
      await assertCounts(store, left);
      assert.deepEqual((await store.listJobs({ limit: 500 })).entries, left);
      assert.deepEqual((await store.listJobs({ limit: 500, offset: 30 })).entries, left.slice(30));
    },
  },
];

async function assertCounts(store: ProjectionStore, rows: readonly JobRow[]): Promise<void> {
  const expected = new Map<string, number>();
  for (const { summary: { service, type, state } } of rows) {
    const queue = `${service} ${type} ${state}`;
    expected.set(queue, (expected.get(queue) ?? 0) + 1);
  }
  const found = (await store.countQueues()).map(({ service, type, state, count }) =>
    [`${service} ${type} ${state}`, count] as const
  );
  assert.deepEqual(new Map(found), expected);
  assert.equal(found.length, expected.size);
}
