import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { storeConformance } from "../projection/conformance.ts";
import { type JobRow, projectBatch, type ProjectionStore } from "../projection/mod.ts";
import { FIND_STATEMENTS } from "../projection/sqlite/_find.ts";
import { LIST_STATEMENTS } from "../projection/sqlite/_list.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { arbitraryStream, foldStream, keepingLogs } from "./projection_events.ts";

for (const check of storeConformance()) {
  Deno.test(`openSqliteStore(): ${check.name}`, async () => {
    await using store = openSqliteStore({ path: ":memory:" });
    await check.run(store);
  });
}

Deno.test("projectBatch() of any stream equals protocol's fold row by row, however it is cut", async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(arbitraryStream, cuts, async (stream, sizes) => {
      await using store = openSqliteStore({ path: ":memory:" });
      for (let begun = 0, batch = 0; begun < stream.length; batch++) {
        const events = stream.slice(begun, begun + (sizes[batch % sizes.length] ?? 1));
        const { revision } = await store.position();
        const position = { stream: "a", sequence: events.at(-1)?.sequence ?? 0 };
        const options = { revision, now: 0, keepLogs: 200 };
        await projectBatch(store, { events, position, skipped: {} }, options);
        begun += events.length;
      }
      const folded = foldStream(stream);
      const rows: JobRow[] = [];
      for (const id of new Set(stream.map(({ event }) => event.jobId))) {
        const expected = folded.get(id);
        const found = await store.getJob(id);
        assert.deepEqual(found?.job, expected);
        const [row = null] = await store.readRows([id]);
        if (row !== null) rows.push(row);
      }
      await assertLists(store, rows);
    }),
    { numRuns: 300 },
  );
});

/** Lists, counts and offsets say the same as the rows themselves. */
async function assertLists(store: ProjectionStore, rows: readonly JobRow[]): Promise<void> {
  const newest = rows.toSorted((a, b) => b.changedSequence - a.changedSequence);
  const all = await store.listJobs({ limit: 500 });
  assert.deepEqual(all, { entries: newest, count: newest.length });
  for (let offset = 1; offset <= newest.length; offset++) {
    const { entries } = await store.listJobs({ limit: 1, offset });
    assert.deepEqual(entries, newest.slice(offset, offset + 1));
    const since = newest[offset]?.changedAt;
    if (since !== undefined) assert.equal(await store.countJobs({ since }), offset + 1);
  }
  const counts = await store.countQueues();
  assert.equal(counts.reduce((sum, { count }) => sum + count, 0), newest.length);
}

Deno.test("projectBatch() keeps the newest log lines and counts the others", async () => {
  await fc.assert(
    fc.asyncProperty(arbitraryStream, async (stream) => {
      await using store = openSqliteStore({ path: ":memory:" });
      for (const stored of stream) {
        const { revision } = await store.position();
        const position = { stream: "a", sequence: stored.sequence };
        const options = { revision, now: 0, keepLogs: 3 };
        await projectBatch(store, { events: [stored], position, skipped: {} }, options);
      }
      for (const [id, job] of foldStream(stream)) {
        const found = await store.getJob(id);
        assert.deepEqual({ job: found?.job, droppedLogs: found?.droppedLogs }, keepingLogs(job, 3));
      }
    }),
    { numRuns: 100 },
  );
});

Deno.test("openSqliteStore() reads lists, searches and counts by ranges of an index alone", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "jobs.sqlite");
  await using _store = openSqliteStore({ path });
  using db = new DatabaseSync(path);
  for (const [name, sql] of Object.entries({ ...LIST_STATEMENTS, ...FIND_STATEMENTS })) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all().map((step) =>
      String(step["detail"])
    );
    // What a table-valued function or the page itself gives may be gone through; tables may not.
    const scans = plan.filter((step) =>
      step.startsWith("SCAN") && !/^SCAN (queue|wanted|page|json_each)\b/.test(step)
    );
    assert.deepEqual(scans, [], `${name}: ${plan.join(" | ")}`);
    assert.ok(plan.some((step) => step.startsWith("SEARCH")), `${name}: ${plan.join(" | ")}`);
  }
});

Deno.test("openSqliteStore() empties a file of another version and refuses one that is no database", async () => {
  await using folder = await temporaryFolder();
  const old = join(folder.path, "old.sqlite");
  await openSqliteStore({ path: old })[Symbol.asyncDispose]();
  {
    using db = new DatabaseSync(old);
    db.exec("PRAGMA user_version = 0; DROP TABLE job_counts; CREATE TABLE added (x)");
    db.exec(`INSERT INTO projection_metadata VALUES ('position', '{"sequence":7}')`);
  }
  {
    await using store = openSqliteStore({ path: old });
    assert.equal((await store.position()).sequence, 0);
    assert.equal(await store.countJobs({}), 0);
  }
  const others = join(folder.path, "others.sqlite");
  {
    using db = new DatabaseSync(others);
    db.exec("CREATE TABLE customers (x); INSERT INTO customers VALUES (1)");
  }
  assert.throws(() => openSqliteStore({ path: others }), /it holds another program's tables/);
  {
    using db = new DatabaseSync(others);
    assert.equal(db.prepare("SELECT x FROM customers").all().length, 1);
  }
  const foreign = join(folder.path, "foreign.sqlite");
  await writeFile(
    foreign,
    "this is not a database, and long enough to be taken for a damaged one".repeat(20),
  );
  assert.throws(
    () => openSqliteStore({ path: foreign }),
    /Cannot open the projection .* remove the file/,
  );
  assert.throws(
    () => openSqliteStore({ path: join(folder.path, "none", "x.sqlite") }),
    /Cannot open/,
  );
});

Deno.test("openSqliteStore() lets two processes share a file: one write wins, both read it", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "jobs.sqlite");
  await using one = openSqliteStore({ path });
  await using two = openSqliteStore({ path });
  const step = { expectedRevision: 0, jobs: [], statistics: [], skipped: {} };
  const outcomes = await Promise.all([
    one.commit({ ...step, position: { stream: "a", sequence: 1 } }),
    two.commit({ ...step, position: { stream: "b", sequence: 2 } }),
  ]);
  assert.deepEqual(outcomes.map(({ kind }) => kind), ["stored", "conflict"]);
  assert.deepEqual(await two.position(), await one.position());
});

async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "trellis-projection-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
