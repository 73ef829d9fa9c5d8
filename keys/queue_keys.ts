/**
 * The keys of one queue, as its service needs them: what `jobs/` asks of this room.
 *
 * @module
 */

import type { Connection, Publisher } from "../nats/mod.ts";
import {
  type JobsError,
  type KeyView,
  ok,
  parseKeyTemplate,
  type QueueAddress,
  type QueueSettings,
  type Result,
  valueOrThrow,
} from "../protocol/mod.ts";
import { type Acquisition, type Decided, type Keys, openKeys } from "./coordinator.ts";
import type { KeyedJobs } from "./fate.ts";
import { type HeldSlot, holdSlot } from "./held_slot.ts";
import { deriveJobKey, type JobKey, type JobKeyFailure } from "./job_key.ts";
import type { KeyError } from "./key_error.ts";
import { keyPolicy, type KeyState } from "./key_state.ts";
import { isBlocked } from "./reclaim.ts";
import { openTurns, type TakeOptions, type TurnOutcome } from "./turns.ts";

/** What the keys of a queue need. */
export interface QueueKeysOptions {
  /** The connection. */
  readonly connection: Connection;
  /** Where writes go. */
  readonly publisher: Publisher;
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its settings, with `keyConcurrency`. */
  readonly settings: QueueSettings;
  /** The history of its jobs. */
  readonly jobs: KeyedJobs;
  /** Told of trouble that heals by itself. */
  readonly onTrouble: (description: string) => void;
}

/** How a job waits for its slot, and hears of its loss. */
export interface LineOptions extends TakeOptions {
  /** Called once, when the slot is lost while it is held. */
  readonly onLost: (why: string) => void;
}

/** What waiting for a slot ended with. */
export type TakenTurn =
  /** The job has its slot, which is kept from now on. */
  | { readonly kind: "acquired"; readonly slot: HeldSlot }
  | Exclude<TurnOutcome, { readonly kind: "acquired" }>;

/** The jobs of this process that wait for their keys. */
export interface KeyLine extends Disposable {
  /** Resolves when the job has its slot, or never will; fails only with what time does not heal. */
  take(acquisition: Acquisition, options: LineOptions): Promise<Result<TakenTurn, KeyError>>;
}

/** The keys of one queue. */
export interface QueueKeys extends Pick<Keys, "admit" | "withdraw" | "revoke"> {
  /** Gives the key of a validated payload. */
  derive(payload: unknown): Promise<Result<JobKey, JobsError<JobKeyFailure>>>;
  /** Shows a key; `undefined` when nothing of it runs or waits. */
  view(key: JobKey): Decided<KeyView | undefined>;
  /** Begins to hear of changes, for a worker. */
  openLine(): KeyLine;
}

/** Opens the keys of a queue. */
export function openQueueKeys(options: QueueKeysOptions): QueueKeys {
  const { settings, onTrouble, connection } = options;
  const policy = keyPolicy(settings);
  if (policy === undefined) throw new TypeError("Cannot open keys: the queue has none");
  const template = valueOrThrow(parseKeyTemplate(settings.keyConcurrency?.key ?? []));
  const keys = openKeys({ ...options, policy });
  return {
    admit: keys.admit,
    withdraw: keys.withdraw,
    revoke: keys.revoke,
    derive: (payload) => deriveJobKey(template, payload),
    async view(key) {
      const state = await keys.read(key);
      if (!state.ok || state.value === undefined) return state.ok ? ok(undefined) : state;
      return ok(viewOf(state.value, isBlocked(state.value, policy.stalePolicy, Date.now())));
    },
    openLine() {
      const turns = openTurns({ connection, keys, onTrouble });
      return {
        async take(acquisition, { onLost, ...take }) {
          const taken = await turns.take(acquisition, take);
          if (!taken.ok) return taken;
          const acquired = taken.value;
          if (acquired.kind !== "acquired") return ok(acquired);
          const report = ({ message }: KeyError) => onTrouble(message);
          const hold = { keys, acquisition, acquired, onLost, onTrouble: report };
          return ok({ kind: "acquired", slot: holdSlot(hold) });
        },
        [Symbol.dispose]: () => turns[Symbol.dispose](),
      };
    },
  };
}

function viewOf(state: KeyState, blocked: boolean): KeyView {
  const { key, keyHash, maxActive, maxQueuedPerKey, staleTakeoverCount } = state;
  return {
    ...{ key, keyHash, maxActive, maxQueuedPerKey, blocked, staleTakeoverCount },
    active: state.active.map((slot) => ({
      jobId: slot.jobId,
      instanceId: slot.instanceId,
      startedAt: text(slot.startedAt),
      heartbeatAt: text(slot.heartbeatAt),
      leaseExpiresAt: text(slot.leaseExpiresAt),
      tries: slot.tries,
    })),
    queued: state.queued.map(({ jobId, createdAt, notBefore }) => ({
      jobId,
      createdAt: text(createdAt),
      ...(notBefore !== undefined && { notBefore: text(notBefore) }),
    })),
  };
}

function text(instant: number): string {
  return new Date(instant).toISOString();
}
