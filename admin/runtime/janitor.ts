/**
 * The janitor: jobs whose deadline has passed become `expired`; a running handler is told by that.
 *
 * @module
 */

import { createCommands, type Lifecycle } from "../../jobs/mod.ts";
import type { ProjectionReader } from "../../projection/mod.ts";
import { addressOf } from "../../protocol/mod.ts";
import { type AdminLoop, startLoop } from "./loop.ts";

/** What the janitor works with. */
export interface JanitorOptions {
  /** The rows. */
  readonly store: Pick<ProjectionReader, "listDue">;
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** Who does it, for people: this process and its term. */
  readonly owner: string;
  /** How long between two looks; a second. */
  readonly everyMs?: number;
  /** The present instant. */
  readonly clock: () => number;
  /** Told what happens, in words. */
  readonly onNote: (note: string) => void;
}

const EVERY_MS = 1_000;
const PAGE = 100;
/** Rows that cannot be expired are passed over; more of them than this are looked at anew. */
const MOST_PASSED = 400;
/** How long a row that was written, or cannot be, is passed over: the projection needs a moment. */
const PASSED_MS = 30_000;

/** Starts the janitor. */
export function startJanitor(options: JanitorOptions): AdminLoop {
  const { store, lifecycle, owner, clock, onNote, everyMs = EVERY_MS } = options;
  const commands = createCommands(lifecycle, clock);
  const passed = new Map<string, number>();
  return startLoop({
    name: "the janitor",
    everyMs,
    onNote,
    async look(signal, tally) {
      const now = clock();
      for (const [id, until] of passed) {
        if (until <= now || passed.size > MOST_PASSED) passed.delete(id);
      }
      const due = await store.listDue(new Date(now).toISOString(), PAGE + passed.size);
      const rows = due.filter(({ summary }) => !passed.has(summary.id));
      for (const { summary } of rows) {
        if (signal.aborted) return;
        const reason = `the deadline ${summary.deadline} passed; found by ${owner}`;
        const expired = await commands.expire(addressOf(summary), { reason });
        passed.set(summary.id, now + PASSED_MS);
        if (expired.ok) tally.add("expired");
        else if (expired.error.reason === "wrong-state") tally.add("already-ended");
        else if (expired.error.reason === "not-found") tally.add("gone");
        else throw expired.error;
      }
      return rows.length >= PAGE;
    },
  });
}
