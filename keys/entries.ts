/**
 * The entries of a bucket, changed by compare-and-set.
 *
 * Changes of one entry that are asked for while another is under way are decided together and
 * written at once, so that a process never competes with itself.
 *
 * @module
 */

import type { Connection, Publisher } from "../nats/mod.ts";
import { err, ok, type Result } from "../protocol/mod.ts";
import { commit, type EntryStore } from "./_commit.ts";
import { createMemory } from "./_memory.ts";
import type { KeyError } from "./key_error.ts";
import type { Change } from "./key_state.ts";

/** What the entries of a bucket need. */
export interface EntriesOptions<State> {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The bucket. */
  readonly bucket: string;
  /** Writes a state. */
  readonly encode: (state: State, now: number) => Uint8Array;
  /** Reads a state; a reason when it cannot be read. */
  readonly decode: (data: Uint8Array, entryKey: string) => Result<State, string>;
  /** How much of the memory a state takes; 1 each when left out. */
  readonly weigh?: (state: State) => number;
  /** The present instant. */
  readonly clock?: () => number;
  /** Chance, from 0 to 1. */
  readonly random?: () => number;
}

/** A decision about one entry, on its state, the present instant and the revision that was read. */
export type Decide<State, Decision> = (
  state: State | undefined,
  now: number,
  revision: number,
) => Change<State, Decision>;

/** The entries of a bucket. */
export interface Entries<State> {
  /** Decides about an entry and stores what follows; the decision is given once that is stored. */
  change<Decision>(
    entryKey: string,
    decide: Decide<State, Decision>,
    budgetMs?: number,
  ): Promise<Result<Decision, KeyError>>;
  /** To be called when an entry may have been written by another: the next change reads first. */
  heard(entryKey: string): void;
}

/** How long an unreachable server is waited for: longer than an election. */
const BUDGET_MS = 15_000;
/** Weight that is remembered in all; see {@linkcode EntriesOptions.weigh}. */
const MOST_REMEMBERED = 50_000;

interface Pending<State> {
  readonly giveUpAt: number;
  readonly apply: Decide<State, unknown>;
  readonly finish: (outcome: Result<void, KeyError>) => void;
  readonly fail: (bug: unknown) => void;
}

/** Opens the entries of a bucket. */
export function openEntries<State>(options: EntriesOptions<State>): Entries<State> {
  const { weigh = () => 1, clock = Date.now, random = Math.random } = options;
  const store: EntryStore<State> = { ...options, clock, random };
  const memory = createMemory(weigh, MOST_REMEMBERED);
  const queues = new Map<string, Pending<State>[]>();
  const writing = new Set<string>();

  const run = async (entryKey: string, queue: Pending<State>[]): Promise<void> => {
    // Whoever asks in the same turn of the event loop is decided about together.
    await Promise.resolve();
    while (queue.length > 0) {
      const batch = queue.splice(0);
      try {
        const outcome = await commit(store, memory, writing, {
          entryKey,
          apply: ({ state, revision }, now) =>
            batch.reduce((before, { apply }) => apply(before, now, revision).state, state),
          giveUpAt: Math.min(...batch.map(({ giveUpAt }) => giveUpAt)),
        });
        for (const { finish } of batch) finish(outcome);
      } catch (bug) {
        for (const { fail } of batch) fail(bug);
      }
    }
    queues.delete(entryKey);
  };

  return {
    change<Decision>(
      entryKey: string,
      decide: Decide<State, Decision>,
      budgetMs = BUDGET_MS,
    ): Promise<Result<Decision, KeyError>> {
      return new Promise((resolve, reject) => {
        let decisions: Decision[] = [];
        const pending: Pending<State> = {
          giveUpAt: Date.now() + budgetMs,
          apply(state, now, revision) {
            const change = decide(state, now, revision);
            decisions = [change.decision];
            return change;
          },
          finish(outcome) {
            if (!outcome.ok) return resolve(err(outcome.error));
            for (const decision of decisions) resolve(ok(decision));
          },
          fail: reject,
        };
        const others = queues.get(entryKey);
        if (others !== undefined) return void others.push(pending);
        const queue = [pending];
        queues.set(entryKey, queue);
        void run(entryKey, queue);
      });
    },
    heard(entryKey) {
      // Our own write is heard before it is answered; if it was another's, ours is refused anyway.
      if (!writing.has(entryKey)) memory.take(entryKey);
    },
  };
}
