/** Claim: projecting events costs at most twice what reading and decoding them costs. */

import type { Connection } from "../nats/mod.ts";
import { startProjector } from "../projection/mod.ts";
import { openSqliteStore } from "../projection/sqlite/mod.ts";
import { compare } from "./_compare.ts";
import { databaseFile } from "./_database_file.ts";
import type { Figure, Scale } from "./_figures.ts";
import { EVENTS_PER_LIFE, writeLives } from "./_lives.ts";
import { readAndDecode } from "./_raw_reader.ts";
import { startWorld } from "./_world.ts";

/** Ours reads, folds and writes to a file; raw reads and decodes with the same decoder. */
export async function projector(scale: Scale): Promise<Figure> {
  const events = (scale.quick ? 2_000 : 100_000) * EVENTS_PER_LIFE;
  await using world = await startWorld();
  await using raw = await world.raw("bench");
  await writeLives(raw.publisher, events / EVENTS_PER_LIFE);
  return await compare({
    name: "projector",
    unit: "events/s",
    kind: "rate",
    ours: () => projectAll(raw.connection, events),
    raw: () => readAndDecode(raw.connection, events),
  }, scale);
}

/** Projects the whole stream into a new file; gives events per second. */
export async function projectAll(connection: Connection, events: number): Promise<number> {
  await using file = await databaseFile();
  await using store = openSqliteStore(file);
  const begunAt = performance.now();
  await using projector = startProjector({ connection, store });
  if (!await projector.waitFor(events, 600_000)) {
    throw new Error(`Cannot project: ${JSON.stringify(projector.health())}`);
  }
  return events / ((performance.now() - begunAt) / 1_000);
}
