/** Claim: with a million jobs, any page of any list is there in a few milliseconds. */

import {
  type JobFilter,
  type JobQuery,
  MAX_OFFSET,
  projectBatch,
  type ProjectionStore,
  type StoredEvent,
} from "../projection/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import type { JobEvent, JobState } from "../protocol/mod.ts";
import { databaseFile } from "./_database_file.ts";
import { type Figure, quantile, rounded, type Scale } from "./_figures.ts";
import { queueOf } from "./_lives.ts";
import { rawJobId } from "./_raw_events.ts";
import { payloadOf } from "./_world.ts";

const BATCH = 500;
const BEGIN_MS = Date.parse("2026-01-01T00:00:00.000Z");
/** A job every 60 ms: a million of them are most of a day. */
const EVERY_MS = 60;

/** Fills a store and asks for pages as a dashboard does: filters, depths and sizes by chance. */
export async function list(scale: Scale): Promise<Figure> {
  const [jobs, samples] = scale.quick ? [5_000, 200] : [1_000_000, 5_000];
  await using file = await databaseFile();
  await using store = openSqliteStore(file);
  await fill(store, jobs, (done) => scale.progress(`list: ${done} jobs stored`));
  const times: { query: JobQuery; ms: number }[] = [];
  for (let index = 0; index < samples; index++) {
    const query = anyQuery(jobs);
    const begunAt = performance.now();
    const page = await store.listJobs(query);
    times.push({ query, ms: performance.now() - begunAt });
    const expected = Math.max(0, Math.min(query.limit, page.count - (query.offset ?? 0)));
    if (page.entries.length !== expected) {
      throw new Error(`Cannot list ${JSON.stringify(query)}: ${page.entries.length} rows`);
    }
  }
  const all = times.map(({ ms }) => ms);
  const slowest = times.toSorted((a, b) => b.ms - a.ms)[0];
  return {
    name: "list",
    ours: rounded(quantile(all, 0.99)),
    raw: null,
    ratio: null,
    range: null,
    unit: "ms p99",
    note: `${jobs.toLocaleString("en")} jobs, offsets to ${MAX_OFFSET.toLocaleString("en")}: ` +
      `p50 ${quantile(all, 0.5).toFixed(2)} ms, slowest ${slowest?.ms.toFixed(1)} ms for ` +
      JSON.stringify(slowest?.query),
  };
}

/** Nine of ten complete; the rest ends, or stands, in every other way. */
const ENDS = ["failed", "dead", "cancelled", "retry", "expired"] as const;

async function fill(
  store: ProjectionStore,
  jobs: number,
  progress: (done: number) => void,
): Promise<void> {
  let { revision } = await store.position();
  let sequence = 0;
  for (let first = 0; first < jobs; first += BATCH) {
    const storedAt = new Date(BEGIN_MS + first * EVERY_MS).toISOString();
    const lives = Array.from({ length: BATCH }, (_, index) => lifeOf(first + index, storedAt));
    const events: StoredEvent[] = [];
    // Interleaved: first all begin, then all go on.
    for (const step of [0, 1, 2]) {
      for (const life of lives) {
        const event = life[step];
        if (event !== undefined) events.push({ event, sequence: ++sequence, storedAt });
      }
    }
    const batch = { events, position: { stream: "bench", sequence }, skipped: {} };
    const outcome = await projectBatch(store, batch, { revision, now: BEGIN_MS });
    if (outcome.kind !== "stored") throw new Error("Cannot fill the store: another writer");
    revision = outcome.position.revision;
    if (first > 0 && first % 250_000 === 0) progress(first);
  }
}

function lifeOf(index: number, timestamp: string): JobEvent[] {
  const base = {
    ...queueOf(index),
    jobId: rawJobId(),
    context: {
      requestId: "req-0123456789abcdef",
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
      traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
    timestamp,
  } as const;
  const created: JobEvent = {
    ...base,
    eventType: "created",
    state: "pending",
    tries: 0,
    payload: payloadOf(index),
    maxTries: 5,
  };
  const active = { ...base, tries: 1, previousState: "pending" } as const;
  const started: JobEvent = {
    ...active,
    eventType: "started",
    state: "active",
    instanceId: "bench-1",
  };
  const end = index % 10 === 0 ? ENDS[Math.floor(index / 10) % ENDS.length] : "completed";
  if (index % 1_000 === 999) return [created];
  if (index % 1_000 === 998) return [created, started];
  if (end === "completed" || end === undefined) {
    return [created, started, { ...active, eventType: "completed", state: "completed" }];
  }
  if (end === "cancelled" || end === "expired") {
    return [created, started, { ...active, eventType: end, state: end } as JobEvent];
  }
  return [
    created,
    started,
    { ...active, eventType: end, state: end, error: "it broke" } as JobEvent,
  ];
}

const STATES: readonly (readonly JobState[] | undefined)[] = [
  undefined,
  ["pending"],
  ["active"],
  ["completed"],
  ["failed"],
  ["dead"],
  ["failed", "dead"],
  ["pending", "active", "retry"],
  ["completed", "failed", "cancelled", "expired", "skipped", "stale", "dead", "dismissed"],
];

function anyQuery(jobs: number): JobQuery {
  const chance = Math.random;
  const { service, jobType: type } = queueOf(Math.floor(chance() * 32));
  const state = STATES[Math.floor(chance() * STATES.length)];
  const since = new Date(BEGIN_MS + chance() * jobs * EVERY_MS).toISOString();
  const filter: JobFilter = {
    ...(chance() < 0.5 && { service }),
    ...(chance() < 0.4 && { type }),
    ...(state !== undefined && { state }),
    ...(chance() < 0.3 && { since }),
  };
  const offset = chance() < 0.3 ? 0 : Math.floor(chance() * MAX_OFFSET);
  return { ...filter, limit: chance() < 0.1 ? 500 : 50, offset };
}
