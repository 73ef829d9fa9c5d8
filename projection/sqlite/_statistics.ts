/** The series over time. */

import { isJobEventType, type JobEventType } from "../../protocol/mod.ts";
import { addDurations, NO_DURATIONS } from "../durations.ts";
import type { Durations, StatisticsDelta, StatisticsQuery, StatisticsSpan } from "../statistics.ts";
import { integer, text } from "./_columns.ts";
import type { Database } from "./_database.ts";
import { ALL } from "./_schema.ts";

const ADD = `INSERT INTO job_statistics
    (resolution, service, type, begins_at, measure, size, count, sum_ms)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT DO UPDATE SET count = count + excluded.count, sum_ms = sum_ms + excluded.sum_ms`;
const READ = `SELECT begins_at, measure, size, count, sum_ms FROM job_statistics
  WHERE resolution = ?1 AND service = ?2 AND type = ?3 AND begins_at >= ?4 AND begins_at < ?5
  ORDER BY begins_at`;
const SERIES = "SELECT DISTINCT resolution, service, type FROM job_statistics";
const TRIM = `DELETE FROM job_statistics
  WHERE resolution = ?1 AND service = ?2 AND type = ?3 AND begins_at < ?4`;

/** Adds to the series of the queue, of its service, and of all. */
export function addStatistics(db: Database, deltas: readonly StatisticsDelta[]): void {
  const sums = new Map<string, StatisticsDelta>();
  for (const delta of deltas) {
    const { service } = delta;
    addTo(sums, delta);
    addTo(sums, { ...delta, service, type: ALL });
    addTo(sums, { ...delta, service: ALL, type: ALL });
  }
  for (const { resolution, at, service, type, measure, size, count, sumMs } of sums.values()) {
    db.run(ADD, resolution, service, type, Date.parse(at), measure, size, count, sumMs);
  }
}

function addTo(sums: Map<string, StatisticsDelta>, delta: StatisticsDelta): void {
  const { resolution, at, service, type, measure, size, count, sumMs } = delta;
  const name = `${resolution} ${at} ${service} ${type} ${measure} ${size}`;
  const known = sums.get(name);
  sums.set(
    name,
    known === undefined
      ? delta
      : { ...known, count: known.count + count, sumMs: known.sumMs + sumMs },
  );
}

/** Reads a series. */
export function readSeries(db: Database, query: StatisticsQuery): StatisticsSpan[] {
  const { resolution, service, type, from, to } = query;
  if (type !== undefined && service === undefined) {
    throw new RangeError(`Cannot give statistics: the type ${type} needs its service`);
  }
  const rows = db.all(
    READ,
    resolution,
    service ?? ALL,
    type ?? ALL,
    Date.parse(from),
    Date.parse(to),
  );
  const spans = new Map<number, SpanDraft>();
  for (const row of rows) {
    const beginsAt = integer(row["begins_at"]);
    const span = spans.get(beginsAt) ?? { events: {}, wait: NO_DURATIONS, run: NO_DURATIONS };
    spans.set(beginsAt, span);
    const [measure, count] = [text(row["measure"]), integer(row["count"])];
    if (measure === "wait" || measure === "run") {
      const size = String(integer(row["size"]));
      const more = { count, sumMs: integer(row["sum_ms"]), sizes: { [size]: count } };
      span[measure] = addDurations([span[measure], more]);
    } else if (isJobEventType(measure)) {
      span.events[measure] = count;
    }
  }
  return [...spans].map(([beginsAt, span]) => ({ at: new Date(beginsAt).toISOString(), ...span }));
}

/** Removes spans that are no longer wanted. */
export function trimSeries(
  db: Database,
  before: { readonly minute: string; readonly hour: string },
): void {
  db.writing(() => {
    for (const series of db.all(SERIES)) {
      const resolution = text(series["resolution"]) === "minute" ? "minute" : "hour";
      const [service, type] = [text(series["service"]), text(series["type"])];
      db.run(TRIM, resolution, service, type, Date.parse(before[resolution]));
    }
  });
}

interface SpanDraft {
  readonly events: Partial<Record<JobEventType, number>>;
  wait: Durations;
  run: Durations;
}
