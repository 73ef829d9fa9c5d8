/**
 * What this room needs of keyed concurrency, and what it gives for it. `keys/` fills the one and
 * uses the other; `mod.ts` joins the two.
 *
 * @module
 */

import type { Connection, Publisher } from "../nats/mod.ts";
import type {
  JobConcurrency,
  JobsError,
  KeyView,
  QueueAddress,
  QueueSettings,
  Result,
  TerminalState,
  WhenFull,
} from "../protocol/mod.ts";

/** A job's key, for people and for coordination. */
export type JobKey = Pick<JobConcurrency, "key" | "keyHash">;

/** Nothing was decided about a key. */
export type KeyTrouble = JobsError & {
  /** Whether the same request may succeed a moment later. */
  readonly retryable: boolean;
};

/** What became of a job, as far as its key must know. */
export type KeyedFate =
  | { readonly kind: "absent" }
  | { readonly kind: "waiting" }
  | { readonly kind: "active"; readonly slotToken?: string }
  | { readonly kind: "ended"; readonly state: TerminalState; readonly slotToken?: string };

/** A slot that is taken from its owner. */
export interface SupersededSlot {
  /** The key. */
  readonly key: JobKey;
  /** The slot. */
  readonly slot: {
    readonly jobId: string;
    readonly slotToken: string;
    readonly instanceId: string;
    readonly heartbeatAt: number;
    readonly leaseExpiresAt: number;
  };
  /** Takeovers of this key, this one included. */
  readonly staleTakeoverCount: number;
  /** Who did it, when an operator did. */
  readonly actor?: string;
}

/** The history of a queue's jobs, as keys need it. Both reject when nobody answers. */
export interface KeyedHistory {
  /** Looks up what became of a job. */
  fate(jobId: string): Promise<KeyedFate>;
  /** Stores `stale` for the job of a slot, unless its history says otherwise, and gives its fate then. */
  supersede(superseded: SupersededSlot): Promise<KeyedFate>;
}

/** A key without room, in numbers. */
export interface FullKey {
  /** Why. */
  readonly reason: "active-limit" | "queue-depth" | "stale-blocked";
  /** Jobs that run. */
  readonly active: number;
  /** Jobs that wait. */
  readonly queued: number;
  /** Jobs that may do either. */
  readonly limit: number;
}

/** What was decided about a new job. */
export type KeyAdmission =
  | { readonly kind: "admitted" }
  | { readonly kind: "replaced"; readonly replacedJobId: string }
  | { readonly kind: "coalesced"; readonly jobId: string }
  | { readonly kind: "full" } & FullKey;

/** A job that wants to run. */
export interface SlotRequest {
  /** Its key. */
  readonly key: JobKey;
  /** The job. */
  readonly jobId: string;
  /** The caller's request. */
  readonly requestId: string;
  /** Made anew for each attempt to run. */
  readonly slotToken: string;
  /** This process. */
  readonly instanceId: string;
  /** The number of the try. */
  readonly tries: number;
  /** Whether it may still be skipped: no try of it was begun that has not reported its end. */
  readonly skippable: boolean;
}

/** A slot that this worker holds and keeps. */
export interface HeldSlot {
  /** Proof of ownership. */
  readonly slotToken: string;
  /** How often a stale owner of the key was superseded. */
  readonly staleTakeoverCount: number;
  /** The lease as it was last renewed. */
  lease(): { readonly heartbeatAt: number; readonly leaseExpiresAt: number };
  /** Renews the lease now; tells whether the slot is held. */
  renew(): Promise<boolean>;
  /** Tells whether the slot is held. */
  confirm(): Promise<boolean>;
  /** Says that the handler outlives its try; tells whether that is stored. */
  linger(): Promise<boolean>;
  /** Gives the slot up: job and handler have ended. */
  release(): Promise<void>;
  /** Gives the slot up for a job that will come back, at the earliest at that instant. */
  handBack(notBefore?: number): Promise<void>;
}

/** What waiting for a slot ended with. */
export type Turn =
  | { readonly kind: "acquired"; readonly slot: HeldSlot }
  | { readonly kind: "replaced"; readonly byJobId: string }
  | { readonly kind: "aborted" };

/** How a job waits for its slot. */
export interface TurnOptions {
  /** Calls it away; it keeps its place in line. */
  readonly signal: AbortSignal;
  /** Told each time that it must wait. */
  readonly onWait: () => void;
  /** Resolves when the job could begin if it got its slot; asked before each look. */
  readonly ready: () => Promise<void> | undefined;
  /** Called once, when the slot is lost while it is held. */
  readonly onLost: (why: string) => void;
}

/** The jobs of this process that wait for their keys. */
export interface KeyLine extends Disposable {
  /** Resolves when the job has its slot, or never will; fails only with what time does not heal. */
  take(request: SlotRequest, options: TurnOptions): Promise<Result<Turn, KeyTrouble>>;
}

/** The keys of one queue. */
export interface QueueKeys {
  /** Gives the key of a validated payload. */
  derive(payload: unknown): Promise<Result<JobKey, JobsError>>;
  /** Reserves a place for a job that is about to be created. */
  admit(
    admission: Pick<SlotRequest, "key" | "jobId" | "requestId"> & { readonly whenFull: WhenFull },
  ): Promise<Result<KeyAdmission, KeyTrouble>>;
  /** Takes a job out of the line that was not created after all, or has ended, with that token. */
  withdraw(key: JobKey, jobId: string, endedWith?: string): Promise<Result<unknown, KeyTrouble>>;
  /** Takes all slots of a key from their owners, for an operator. */
  revoke(
    key: JobKey,
    options: { readonly actor?: string },
  ): Promise<Result<readonly { readonly jobId: string }[], KeyTrouble>>;
  /** Shows a key; `undefined` when nothing of it runs or waits. */
  view(key: JobKey): Promise<Result<KeyView | undefined, KeyTrouble>>;
  /** Begins to hear of changes, for a worker. */
  openLine(): KeyLine;
}

/** Opens the keys of one queue. */
export type OpenQueueKeys = (options: {
  readonly connection: Connection;
  readonly publisher: Publisher;
  readonly queue: QueueAddress;
  readonly settings: QueueSettings;
  readonly jobs: KeyedHistory;
  readonly onTrouble: (description: string) => void;
}) => QueueKeys;
