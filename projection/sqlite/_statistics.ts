/** The series over time: one row per queue and span, with everything counted in it as JSON. */

import {
  addHappenings,
  type Happenings,
  type StatisticsDelta,
  type StatisticsQuery,
  type StatisticsSpan,
} from "../statistics.ts";
import { instant, text } from "./_columns.ts";
import type { Database } from "./_database.ts";
import { ALL } from "./_schema.ts";

const FIND = `SELECT happenings FROM job_statistics
  WHERE resolution = ?1 AND service = ?2 AND type = ?3 AND begins_at = ?4`;
const SAVE = `INSERT INTO job_statistics (resolution, service, type, begins_at, happenings)
  VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET happenings = excluded.happenings`;
const READ = `SELECT begins_at, happenings FROM job_statistics
  WHERE resolution = ?1 AND service = ?2 AND type = ?3 AND begins_at >= ?4 AND begins_at < ?5
  ORDER BY begins_at`;
const SERIES = "SELECT DISTINCT resolution, service, type FROM job_statistics";
const TRIM = `DELETE FROM job_statistics
  WHERE resolution = ?1 AND service = ?2 AND type = ?3 AND begins_at < ?4`;

/** Adds to the series of the queue, of its service, and of all. */
export function addStatistics(db: Database, deltas: readonly StatisticsDelta[]): void {
  const sums = new Map<string, StatisticsDelta>();
  for (const delta of deltas) {
    addTo(sums, delta);
    addTo(sums, { ...delta, type: ALL });
    addTo(sums, { ...delta, service: ALL, type: ALL });
  }
  for (const sum of sums.values()) {
    const { resolution, service, type } = sum;
    const beginsAt = Date.parse(sum.at);
    const found = db.get(FIND, resolution, service, type, beginsAt);
    const known = found === undefined ? undefined : readHappenings(found["happenings"]);
    const { events, wait, run } = known === undefined ? sum : addHappenings(known, sum);
    db.run(SAVE, resolution, service, type, beginsAt, JSON.stringify({ events, wait, run }));
  }
}

/** Reads a series. */
export function readSeries(db: Database, query: StatisticsQuery): StatisticsSpan[] {
  const { resolution, service = ALL, type = ALL, from, to } = query;
  if (type !== ALL && service === ALL) {
    throw new RangeError(`Cannot give statistics: the type ${type} needs its service`);
  }
  return db.all(READ, resolution, service, type, Date.parse(from), Date.parse(to)).map((row) => ({
    at: instant(row["begins_at"]),
    ...readHappenings(row["happenings"]),
  }));
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

function addTo(sums: Map<string, StatisticsDelta>, delta: StatisticsDelta): void {
  const name = `${delta.resolution} ${delta.at} ${delta.service} ${delta.type}`;
  const known = sums.get(name);
  sums.set(name, known === undefined ? delta : { ...delta, ...addHappenings(known, delta) });
}

/** Written by addStatistics() and by nobody else. */
function readHappenings(value: Parameters<typeof text>[0]): Happenings {
  return JSON.parse(text(value));
}
