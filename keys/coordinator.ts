/**
 * The keys of one queue: decisions made on what is stored, and on what the history says.
 *
 * @module
 */

import type { Connection, Publisher } from "../nats/mod.ts";
import {
  KEYS_BUCKET,
  keyStateKey,
  ok,
  parseKeyStateKey,
  type QueueAddress,
  type Result,
  type WhenFull,
} from "../protocol/mod.ts";
import { acquire, type AcquireDecision } from "./acquire.ts";
import { admit, type AdmitDecision } from "./admit.ts";
import { decideKnowing, type FateLookup, openFates } from "./_knowing.ts";
import { type Decide, type Entries, openEntries } from "./entries.ts";
import type { KeyedJobs, Needed } from "./fate.ts";
import {
  handBack,
  release,
  type ReleaseDecision,
  renew,
  type RenewDecision,
  type SlotClaim,
  withdraw,
  type WithdrawDecision,
} from "./hold.ts";
import type { JobKey } from "./job_key.ts";
import { decodeKeyState, encodeKeyState } from "./key_entry.ts";
import type { KeyError } from "./key_error.ts";
import type { ActiveSlot, KeyIdentity, KeyPolicy, KeyState } from "./key_state.ts";
import { revoke, type RevokeDecision } from "./revoke.ts";

/** What the keys of a queue need. */
export interface KeysOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its rules. */
  readonly policy: KeyPolicy;
  /** The history of its jobs. */
  readonly jobs: KeyedJobs;
  /** The present instant. */
  readonly clock?: () => number;
  /** Chance, from 0 to 1. */
  readonly random?: () => number;
}

/** A job that is being created. */
export interface Admission {
  /** Its key. */
  readonly key: JobKey;
  /** The job. */
  readonly jobId: string;
  /** The caller's request. */
  readonly requestId: string;
  /** What to do when there is no room. */
  readonly whenFull: WhenFull;
}

/** A job that wants to run. */
export interface Acquisition {
  /** Its key. */
  readonly key: JobKey;
  /** The job. */
  readonly jobId: string;
  /** The caller's request. */
  readonly requestId: string;
  /** Made anew for each attempt to run; the same for its repetitions. */
  readonly slotToken: string;
  /** The worker process. */
  readonly instanceId: string;
  /** The number of the try. */
  readonly tries: number;
  /** Whether it may still be skipped: no try of it was begun that has not reported its end. */
  readonly skippable: boolean;
}

/** Which slots are taken away, and by whom. */
export interface RevokeOptions {
  /** One slot; all of them when left out. */
  readonly slotToken?: string;
  /** Who does it; recorded on the `stale` events. */
  readonly actor?: string;
}

/** What can be decided about a new job. */
export type Admitted = Exclude<AdmitDecision, Needed | { readonly kind: "unsettled" }>;
/** What can be decided about a job that wants to run, and the revision on which that was. */
export type Acquired = Exclude<AcquireDecision, Needed> & { readonly revision: number };
/** A promise of a decision, or of why there is none. */
export type Decided<Decision> = Promise<Result<Decision, KeyError>>;

/** The keys of one queue. */
export interface Keys {
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its rules. */
  readonly policy: KeyPolicy;
  /** Reserves a place for a job that is about to be created. */
  admit(admission: Admission): Decided<Admitted>;
  /** Takes a slot if it is the job's turn. */
  acquire(acquisition: Acquisition): Decided<Acquired>;
  /** Renews a lease; also proves that the slot is still its owner's. */
  renew(key: JobKey, claim: SlotClaim, lingering?: true): Decided<RenewDecision>;
  /** Gives up the slot of a job that has ended. */
  release(key: JobKey, claim: SlotClaim): Decided<ReleaseDecision>;
  /** Gives up the slot of a job that will come back, at the earliest at that instant. */
  handBack(key: JobKey, claim: SlotClaim, notBefore?: number): Decided<ReleaseDecision>;
  /** Takes a job out of the line that was not created after all, or has ended. */
  withdraw(key: JobKey, jobId: string, endedWith?: string): Decided<WithdrawDecision>;
  /** Takes slots from their owners, for an operator; all of them when no token is given. */
  revoke(key: JobKey, options?: RevokeOptions): Decided<readonly ActiveSlot[]>;
  /** Reads what is known of a key. */
  read(key: Pick<JobKey, "keyHash">): Decided<KeyState | undefined>;
  /** To be called when a key may have been changed by another process. */
  heard(keyHash: string): void;
}

/** How long a `created` that is on its way is waited for; it takes milliseconds. */
const UNSETTLED_MS = 2_000;

/** Opens the keys of a queue. */
export function openKeys(options: KeysOptions): Keys {
  const { queue, policy, random = Math.random } = options;
  const lookup: FateLookup = openFates(options.jobs);
  const entries: Entries<KeyState> = openEntries({
    ...options,
    bucket: KEYS_BUCKET,
    encode: encodeKeyState,
    decode: decodeEntry,
    weigh: ({ active, queued }) => 1 + active.length + queued.length,
  });
  const change = <Decision>(keyHash: string, decide: Decide<KeyState, Decision>) =>
    entries.change(keyStateKey(queue, keyHash), decide);
  const identify = ({ key, keyHash }: JobKey): KeyIdentity => ({ ...queue, key, keyHash });
  return {
    queue,
    policy,
    async admit({ key: jobKey, ...job }) {
      const key = identify(jobKey);
      const giveUpAt = Date.now() + UNSETTLED_MS;
      for (;;) {
        const decided = await decideKnowing<Exclude<AdmitDecision, Needed>>(
          lookup,
          key,
          (fates) =>
            change(key.keyHash, (state, now) => admit(state, { key, policy, ...job, fates }, now)),
        );
        if (!decided.ok) return decided;
        const { value } = decided;
        if (value.kind !== "unsettled") return ok(value);
        if (Date.now() >= giveUpAt) return ok(value.otherwise);
        await new Promise((resolve) => setTimeout(resolve, 5 + random() * 45));
      }
    },
    acquire({ key: jobKey, ...job }) {
      const key = identify(jobKey);
      return decideKnowing<Acquired>(
        lookup,
        key,
        (fates) =>
          change(key.keyHash, (state, now, revision) => {
            const decided = acquire(state, { key, policy, ...job, fates }, now);
            return { state: decided.state, decision: { ...decided.decision, revision } };
          }),
      );
    },
    renew({ keyHash }, claim, lingering) {
      const ttlMs = policy.heartbeatTtlMs;
      const renewal = { ...claim, ttlMs, ...(lingering !== undefined && { lingering }) };
      return change(keyHash, (state, now) => renew(state, renewal, now));
    },
    release: ({ keyHash }, claim) => change(keyHash, (state, now) => release(state, claim, now)),
    handBack({ keyHash }, claim, notBefore) {
      const back = { ...claim, ...(notBefore !== undefined && { notBefore }) };
      return change(keyHash, (state, now) => handBack(state, back, now));
    },
    withdraw({ keyHash }, jobId, endedWith) {
      const gone = { jobId, ...(endedWith !== undefined && { endedWith }) };
      return change(keyHash, (state, now) => withdraw(state, gone, now));
    },
    async revoke(jobKey, { slotToken, actor } = {}) {
      const which = slotToken === undefined ? {} : { slotToken };
      const revoked = await decideKnowing<Exclude<RevokeDecision, Needed>>(
        lookup,
        identify(jobKey),
        (fates) => change(jobKey.keyHash, (state, now) => revoke(state, { ...which, fates }, now)),
        actor,
      );
      return revoked.ok ? ok(revoked.value.slots) : revoked;
    },
    read: ({ keyHash }) => change(keyHash, (state) => ({ state, decision: state })),
    heard: (keyHash) => entries.heard(keyStateKey(queue, keyHash)),
  };
}

function decodeEntry(data: Uint8Array, entryKey: string): Result<KeyState, string> {
  const parsed = parseKeyStateKey(entryKey);
  return parsed.ok ? decodeKeyState(data, parsed.value) : parsed;
}
