/** Answering what a decision needs to know, and deciding again. */

import { errorMessage } from "../nats/mod.ts";
import { err, ok, type Result } from "../protocol/mod.ts";
import type { JobFate, JobFates, KeyedJobs, Needed } from "./fate.ts";
import { KeyError } from "./key_error.ts";
import type { KeyIdentity } from "./key_state.ts";

/** Looks up fates. */
export interface FateLookup {
  /** The history. */
  readonly jobs: KeyedJobs;
  /** Gives the fates of these jobs. */
  ask(jobIds: readonly string[]): Promise<[string, JobFate][]>;
}

/** Questions and answers in a row that one decision may take: all jobs of a full key, and races. */
const MOST_ROUNDS = 40;
/** A line so long is not looked through for each of many refusals that follow each other. */
const LONG_LINE = 16;
/** How long the jobs of a long line are believed to wait still. */
const REMEMBERED_MS = 1_000;

/** Opens the fates of a queue's jobs. */
export function openFates(jobs: KeyedJobs): FateLookup {
  const waiting = new Map<string, number>();
  const ask = async (jobId: string, long: boolean): Promise<[string, JobFate]> => {
    const now = Date.now();
    if (long && (waiting.get(jobId) ?? 0) > now) return [jobId, { kind: "waiting" }];
    const fate = await jobs.fate(jobId);
    if (long && fate.kind === "waiting") waiting.set(jobId, now + REMEMBERED_MS);
    return [jobId, fate];
  };
  const forget = () => {
    const now = Date.now();
    // In the order in which they were remembered, so the first that is not over ends it.
    for (const [jobId, until] of waiting) {
      if (until > now) return;
      waiting.delete(jobId);
    }
  };
  return {
    jobs,
    ask(jobIds) {
      forget();
      return Promise.all(jobIds.map((jobId) => ask(jobId, jobIds.length > LONG_LINE)));
    },
  };
}

/** Decides, answers what the decision asks for, and decides again, until it asks for nothing. */
export async function decideKnowing<Final extends { readonly kind: string }>(
  lookup: FateLookup,
  key: KeyIdentity,
  decide: (fates: JobFates) => Promise<Result<Final | Needed, KeyError>>,
  actor?: string,
): Promise<Result<Final, KeyError>> {
  const fates = new Map<string, JobFate>();
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const decided = await decide(fates);
    if (!decided.ok) return decided;
    const { value } = decided;
    if (!isNeeded(value)) return ok(value);
    try {
      for (const [jobId, fate] of await answer(value, lookup, key, actor)) fates.set(jobId, fate);
    } catch (cause) {
      const why = `the jobs that stand in the way cannot be looked up, ${errorMessage(cause)}`;
      return err(new KeyError("unavailable", `Cannot decide: ${why}; try again`, { cause }));
    }
  }
  const why = `the key's jobs changed ${MOST_ROUNDS} times while they were looked up; try again`;
  return err(new KeyError("contended", `Cannot decide: ${why}`));
}

function answer(
  needed: Needed,
  lookup: FateLookup,
  key: KeyIdentity,
  actor: string | undefined,
): Promise<[string, JobFate][]> {
  if (needed.kind === "ask") return lookup.ask(needed.jobIds);
  return Promise.all(needed.slots.map(async (slot, at): Promise<[string, JobFate]> => {
    const staleTakeoverCount = needed.staleTakeoverCount + 1 + at;
    const by = actor === undefined ? {} : { actor };
    return [slot.jobId, await lookup.jobs.supersede({ key, slot, staleTakeoverCount, ...by })];
  }));
}

function isNeeded<Final extends { readonly kind: string }>(
  decision: Final | Needed,
): decision is Needed {
  return decision.kind === "ask" || decision.kind === "supersede";
}
