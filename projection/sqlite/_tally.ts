/** Counts of jobs, per queue and state, and per block of the stream: kept with the rows, so exact. */

import type { Database } from "./_database.ts";
import { ALL, BLOCK } from "./_schema.ts";

/** A job as it is counted. */
export interface Counted {
  readonly service: string;
  readonly type: string;
  readonly state: string;
}

/** Gathers what changes in the counts, so that a batch writes each of them once. */
export interface CountTally {
  /** Notes that a job whose last change is at this place is there now (1), or no longer (-1). */
  add(job: Counted, changedSequence: number, by: 1 | -1): void;
  /** Writes what has been noted. */
  write(): void;
}

interface Change {
  readonly service: string;
  readonly type: string;
  readonly state: string;
  readonly block: number;
  by: number;
}

const COUNT = `INSERT INTO job_counts (service, type, state, count) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT DO UPDATE SET count = count + excluded.count`;
const UNCOUNT =
  "DELETE FROM job_counts WHERE service = ?1 AND type = ?2 AND state = ?3 AND count = 0";
const BLOCK_COUNT = `INSERT INTO job_blocks (service, type, block, state, count)
  VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET count = count + excluded.count`;
const BLOCK_UNCOUNT = `DELETE FROM job_blocks
  WHERE service = ?1 AND type = ?2 AND block = ?3 AND state = ?4 AND count = 0`;

/** Makes a tally. */
export function createCountTally(db: Database): CountTally {
  const changes = new Map<string, Change>();
  return {
    add({ service, type, state }, changedSequence, by) {
      const block = blockOf(changedSequence);
      const name = `${service} ${type} ${state} ${block}`;
      const known = changes.get(name);
      if (known === undefined) changes.set(name, { service, type, state, block, by });
      else known.by += by;
    },
    write() {
      for (const change of summed(changes.values(), countCells)) {
        db.run(COUNT, change.service, change.type, change.state, change.by);
        if (change.by < 0) db.run(UNCOUNT, change.service, change.type, change.state);
      }
      for (const { service, type, block, state, by } of summed(changes.values(), blockCells)) {
        db.run(BLOCK_COUNT, service, type, block, state, by);
        if (by < 0) db.run(BLOCK_UNCOUNT, service, type, block, state);
      }
    },
  };
}

/** The block that a place of the stream is in. */
export function blockOf(sequence: number): number {
  return Math.floor(sequence / BLOCK);
}

function countCells(change: Change): Change[] {
  return [{ ...change, block: 0 }];
}

/** Blocks are summed up for each way to filter by service and type: a walk reads one range. */
function blockCells(change: Change): Change[] {
  return [
    change,
    { ...change, type: ALL },
    { ...change, service: ALL },
    { ...change, service: ALL, type: ALL },
  ];
}

function summed(changes: Iterable<Change>, cells: (change: Change) => Change[]): Change[] {
  const sums = new Map<string, Change>();
  for (const change of changes) {
    for (const cell of cells(change)) {
      const name = `${cell.service} ${cell.type} ${cell.state} ${cell.block}`;
      const known = sums.get(name);
      if (known === undefined) sums.set(name, { ...cell });
      else known.by += cell.by;
    }
  }
  return [...sums.values()].filter(({ by }) => by !== 0);
}
