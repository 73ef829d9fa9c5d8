/**
 * What a keyed queue has that others have not: policies, and keys that can be seen and released.
 *
 * @module
 */

import {
  type AsyncResult,
  asyncResult,
  err,
  JobsError,
  type KeyView,
  ok,
  type Result,
  type StandardSchema,
  type WhenFull,
} from "../protocol/mod.ts";
import type { CreateDependencies, CreateOptions } from "./create.ts";
import type { CreateError } from "./create_error.ts";
import {
  createKeyed,
  createKeyedAtomically,
  type KeyedCreateDependencies,
  type KeyedCreation,
} from "./create_keyed.ts";
import type { JobKey, KeyTrouble, OpenQueueKeys, QueueKeys } from "./key_port.ts";
import { type KeyedJobs, openKeyedHistory } from "./keyed_history.ts";
import type { JobsLog } from "./log.ts";
import { validatePayload } from "./payload.ts";
import { createPolicyCounts, type PolicyCounts } from "./policy_counts.ts";

/** Why a key cannot be seen or released. */
export type KeyFailure =
  /** The payload does not fit the queue's schema, or has nothing that could be a key. */
  | "invalid-key"
  /** Nobody answers, or others keep changing it; try again. */
  | "key-unavailable"
  /** What is stored cannot be read or changed; an operator must look at it. */
  | "key-refused";

/** The keyed half of a queue. */
export interface KeyedQueue {
  /** The keys. */
  readonly keys: QueueKeys;
  /** The history of the queue's jobs. */
  readonly history: KeyedJobs;
  /** What the policy did. */
  readonly counts: PolicyCounts;
  /** Creates a job, or does what the policy says when its key is full. */
  create(
    payload: unknown,
    whenFull: WhenFull,
    options?: CreateOptions,
  ): Promise<Result<KeyedCreation, CreateError>>;
  /** Creates jobs all or nothing. */
  createAll(
    payloads: readonly unknown[],
    options: CreateOptions,
  ): Promise<Result<string[], CreateError>>;
  /** Shows the key of a payload. */
  view(payload: unknown): AsyncResult<KeyView | undefined, JobsError<KeyFailure>>;
  /** Frees the key of a payload; gives the jobs that were superseded by it. */
  release(
    payload: unknown,
    options: { readonly actor?: string },
  ): AsyncResult<readonly string[], JobsError<KeyFailure>>;
}

/** Opens the keyed half of a queue. */
export function openKeyedQueue(
  openKeys: OpenQueueKeys,
  dependencies: CreateDependencies,
  log: JobsLog,
): KeyedQueue {
  const { lifecycle, queue, settings, payload: schema } = dependencies;
  const { connection, publisher } = lifecycle;
  const history = openKeyedHistory(lifecycle, queue);
  const onTrouble = (description: string) => log("warn", "key-trouble", { ...queue, description });
  const keys = openKeys({ connection, publisher, queue, settings, jobs: history, onTrouble });
  const counts = createPolicyCounts();
  const keyed: KeyedCreateDependencies = { ...dependencies, keys, history, counts, log };
  const withKey = async <Value>(
    verb: string,
    payload: unknown,
    act: (key: JobKey) => Promise<Result<Value, KeyTrouble>>,
  ): Promise<Result<Value, JobsError<KeyFailure>>> => {
    const key = await keyOf(keys, schema, payload);
    if (!key.ok) return err(new JobsError("invalid-key", `Cannot ${verb} the key: ${key.error}`));
    const acted = await act(key.value);
    if (acted.ok) return acted;
    const { message, retryable } = acted.error;
    const reason = retryable ? "key-unavailable" : "key-refused";
    return err(new JobsError(reason, `Cannot ${verb} the key ${key.value.key}: ${message}`));
  };
  return {
    keys,
    history,
    counts,
    create: (payload, whenFull, options) => createKeyed(keyed, payload, whenFull, options),
    createAll: (payloads, options) => createKeyedAtomically(keyed, payloads, options),
    view: (payload) => asyncResult(withKey("show", payload, keys.view)),
    release: (payload, options) =>
      asyncResult(withKey("release", payload, async (key) => {
        const revoked = await keys.revoke(key, options);
        return revoked.ok ? ok(revoked.value.map(({ jobId }) => jobId)) : revoked;
      })),
  };
}

/** The key of a payload, as its schema gives it back; a sentence when it has none. */
async function keyOf(
  keys: QueueKeys,
  schema: StandardSchema,
  payload: unknown,
): Promise<Result<JobKey, string>> {
  const judged = await validatePayload(schema, payload);
  if (!judged.ok) return err(`the payload does not fit, ${judged.error}`);
  const key = await keys.derive(judged.value);
  return key.ok ? key : err(key.error.message);
}
