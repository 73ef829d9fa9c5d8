/**
 * What the history says about the jobs of a key, as far as the key must know it.
 *
 * @module
 */

import type { TerminalState } from "../protocol/mod.ts";
import type { ActiveSlot, KeyIdentity } from "./key_state.ts";

/** What became of a job. */
export type JobFate =
  /** It has no event: not created yet, or never to be. Any replica may answer, so it proves little. */
  | { readonly kind: "absent" }
  /** `pending` or `retry`: no try is under way. */
  | { readonly kind: "waiting" }
  /** A try was started, in this slot if the event says which. */
  | { readonly kind: "active"; readonly slotToken?: string }
  /** It has ended; the token is there when the worker that held that slot wrote the end. */
  | { readonly kind: "ended"; readonly state: TerminalState; readonly slotToken?: string };

/** Fates that are known so far, by job. */
export type JobFates = ReadonlyMap<string, JobFate>;

/** Nothing is known yet. */
export const NO_FATES: JobFates = new Map();

/** Something must be known or done before it can be decided. */
export type Needed =
  /** The fates of these jobs must be looked up. */
  | { readonly kind: "ask"; readonly jobIds: readonly string[] }
  /** The owners of these slots are gone: `stale` must be stored for their jobs. */
  | {
    readonly kind: "supersede";
    readonly slots: readonly ActiveSlot[];
    readonly staleTakeoverCount: number;
  };

/** A slot whose owner is superseded. */
export interface Supersession {
  /** The key. */
  readonly key: KeyIdentity;
  /** The slot. */
  readonly slot: ActiveSlot;
  /** Takeovers of this key, this one included. */
  readonly staleTakeoverCount: number;
  /** Who did it, when an operator took the slot away. */
  readonly actor?: string;
}

/** What `keys/` needs of whoever keeps the history of jobs. Both reject when nobody answers. */
export interface KeyedJobs {
  /** Looks up what became of a job. */
  fate(jobId: string): Promise<JobFate>;
  /** Stores `stale` for the job of a slot, unless its history says otherwise, and gives its fate then. */
  supersede(supersession: Supersession): Promise<JobFate>;
}
