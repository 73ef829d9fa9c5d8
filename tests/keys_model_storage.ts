/**
 * What the model's servers keep: the entry of one key with its revision, and the history of jobs.
 * Every `yield` is a point where others go on, and where whoever decides may die.
 */

import type { Change, JobFate, KeyState, Needed } from "../keys/mod.ts";

/** A decision under way; it gives what was decided once that is stored. */
export type Deciding<Decision> = Generator<void, Decision, void>;

/** What is stored, and what was found to be wrong. */
export interface StoredWorld {
  now: number;
  entry: { state: KeyState | undefined; revision: number };
  readonly jobs: Map<string, JobFate>;
  readonly problems: string[];
}

/** What is decided, on the state and what is known of jobs. */
export type PureDecision<Decision> = (
  state: KeyState | undefined,
  now: number,
  fates: ReadonlyMap<string, JobFate>,
) => Change<KeyState, Decision | Needed>;

/** A world's storage. */
export interface Storage {
  readonly world: StoredWorld;
  /** What the newest event of a job says. */
  fateOf(jobId: string): JobFate;
  /** Stores an event. */
  write(jobId: string, fate: JobFate): void;
  /** Reads, decides and writes by compare-and-set, as the shell does, with a step between each. */
  decide<Decision extends { readonly kind: string }>(
    clock: () => number,
    pure: PureDecision<Decision>,
    owner?: string,
  ): Deciding<Decision>;
}

/** Makes an empty storage; `chance` gives whole numbers below its argument. */
export function createStorage(chance: (below: number) => number): Storage {
  const world: StoredWorld = {
    now: 1_000_000,
    entry: { state: undefined, revision: 0 },
    jobs: new Map(),
    problems: [],
  };
  const ABSENT: JobFate = { kind: "absent" };
  const fateOf = (jobId: string): JobFate => world.jobs.get(jobId) ?? ABSENT;
  const changed = new Map<string, { before: JobFate; at: number }>();
  const write = (jobId: string, fate: JobFate) => {
    changed.set(jobId, { before: fateOf(jobId), at: world.now });
    world.jobs.set(jobId, fate);
  };
  /** Any replica may answer, also one that has not heard yet. */
  const lookUp = (jobId: string): JobFate => {
    const last = changed.get(jobId);
    const lags = last !== undefined && world.now - last.at <= 20 && chance(4) === 0;
    return lags ? last.before : fateOf(jobId);
  };

  /** A slot is given up by its own job, or when its job is known to have ended or not to have begun. */
  const checkTaken = (
    before: KeyState | undefined,
    after: KeyState | undefined,
    fates: ReadonlyMap<string, JobFate>,
    owner: string | undefined,
  ) => {
    for (const { jobId, slotToken } of before?.active ?? []) {
      const fate = fates.get(jobId);
      const kept = after?.active.some((slot) => slot.slotToken === slotToken) === true;
      const begun = fate?.kind === "active" && fate.slotToken === slotToken;
      if (kept || jobId === owner || (fate !== undefined && !begun)) continue;
      world.problems.push(`${jobId} lost its slot without being stale`);
    }
  };

  function* decide<Decision extends { readonly kind: string }>(
    clock: () => number,
    pure: PureDecision<Decision>,
    owner?: string,
  ): Deciding<Decision> {
    const fates = new Map<string, JobFate>();
    for (;;) {
      const { state, revision } = world.entry;
      yield;
      const change = pure(state, clock(), fates);
      const { decision } = change;
      if (decision.kind === "ask" && "jobIds" in decision) {
        for (const jobId of decision.jobIds) fates.set(jobId, lookUp(jobId));
        yield;
        continue;
      }
      if (decision.kind === "supersede" && "slots" in decision) {
        for (const { jobId, slotToken } of decision.slots) {
          const fate = fateOf(jobId);
          if (fate.kind === "active" && fate.slotToken === slotToken) {
            write(jobId, { kind: "ended", state: "stale", slotToken });
          }
          fates.set(jobId, fateOf(jobId));
          yield;
        }
        continue;
      }
      if (change.state !== state) {
        if (world.entry.revision !== revision) continue;
        checkTaken(state, change.state, fates, owner);
        world.entry = { state: change.state, revision: revision + 1 };
      }
      // Everything but what is needed is the decision itself.
      return decision as Decision;
    }
  }

  return { world, fateOf, write, decide };
}
