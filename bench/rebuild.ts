/** Claim: a projection of a million jobs is rebuilt in a minute or so, in memory that stays flat. */

import process from "node:process";
import { startProjector } from "../projection/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { databaseFile } from "./_database_file.ts";
import { type Figure, median, rounded, type Scale } from "./_figures.ts";
import { EVENTS_PER_LIFE, writeLives } from "./_lives.ts";
import { startWorld } from "./_world.ts";

const MEGABYTE = 1024 * 1024;

/** Writes the lives, lets a projector rebuild from the beginning, and watches its memory. */
export async function rebuild(scale: Scale): Promise<Figure> {
  const jobs = scale.quick ? 2_000 : 1_000_000;
  const events = jobs * EVENTS_PER_LIFE;
  await using world = await startWorld();
  await using raw = await world.raw("bench");
  await writeLives(raw.publisher, jobs, (done) => scale.progress(`rebuild: ${done} jobs written`));
  await using file = await databaseFile();
  await using store = openSqliteStore(file);
  const begunAt = performance.now();
  await using projector = startProjector({ connection: raw.connection, store });
  const sizes: number[] = [];
  for (let part = 1; part <= 12; part++) {
    const place = Math.floor(events * part / 12);
    if (!await projector.waitFor(place, 600_000)) {
      throw new Error(`Cannot rebuild: ${JSON.stringify(projector.health())}`);
    }
    sizes.push(process.memoryUsage().rss / MEGABYTE);
    scale.progress(`rebuild: ${place} of ${events} events, RSS ${sizes.at(-1)?.toFixed(0)} MB`);
  }
  const seconds = (performance.now() - begunAt) / 1_000;
  const [first, last] = [median(sizes.slice(0, 4)), median(sizes.slice(-4))];
  return {
    name: "rebuild",
    ours: rounded(jobs / seconds),
    raw: null,
    ratio: null,
    range: null,
    unit: "jobs/s",
    note: `${jobs.toLocaleString("en")} jobs in ${seconds.toFixed(1)} s, ` +
      `first → last third: RSS ${first.toFixed(0)} → ${last.toFixed(0)} MB`,
  };
}
