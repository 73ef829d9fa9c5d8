/**
 * Creating jobs of a keyed queue: a place in the line of the key first, then `created`.
 *
 * @module
 */

import {
  err,
  type JobCreatedEvent,
  type JobQueuePolicy,
  ok,
  type Result,
  type WhenFull,
} from "../protocol/mod.ts";
import { buildCreated, type CreateDependencies, type CreateOptions } from "./create.ts";
import { createAtomically } from "./create_atomic.ts";
import { type CreateError, createError, fullKeyError, keyTroubleError } from "./create_error.ts";
import type { JobKey, KeyAdmission, QueueKeys } from "./key_port.ts";
import type { KeyedJobs } from "./keyed_history.ts";
import type { JobsLog } from "./log.ts";
import type { PolicyCounts } from "./policy_counts.ts";

/** What creating keyed jobs needs. */
export interface KeyedCreateDependencies extends CreateDependencies {
  /** The keys of the queue. */
  readonly keys: QueueKeys;
  /** The history of its jobs. */
  readonly history: KeyedJobs;
  /** Told what the policy did. */
  readonly counts: PolicyCounts;
  /** Told what happens. */
  readonly log: JobsLog;
}

/** What became of a job that was to be created. */
export type KeyedCreation =
  /** It is stored. */
  | { readonly kind: "accepted"; readonly jobId: string }
  /** It is stored, and took the place of that one. */
  | { readonly kind: "replaced"; readonly jobId: string; readonly replacedJobId: string }
  /** That job stands for it; nothing was stored. */
  | { readonly kind: "coalesced"; readonly jobId: string };

/** A `created` event that has its place in line. */
type Reserved =
  & { readonly event: JobCreatedEvent; readonly key: JobKey }
  & Exclude<
    KeyAdmission,
    { readonly kind: "coalesced" | "full" }
  >;

/** Creates a keyed job, or does what the policy says when its key is full. */
export async function createKeyed(
  dependencies: KeyedCreateDependencies,
  payload: unknown,
  whenFull: WhenFull,
  options: CreateOptions = {},
): Promise<Result<KeyedCreation, CreateError>> {
  const { history, keys, lifecycle } = dependencies;
  const built = await buildCreated(dependencies, payload, options);
  if (!built.ok) return built;
  const { jobId } = built.value;
  // The caller's key may stand for a job that has long had its turn: it needs no new place.
  if (options.idempotencyKey !== undefined && await exists(history, jobId)) {
    return ok({ kind: "accepted", jobId });
  }
  const reserved = await reserve(dependencies, built.value, whenFull);
  if (!reserved.ok) return reserved;
  if (reserved.value.kind === "coalesced") return ok(reserved.value);
  const { event, key } = reserved.value;
  const outcome = await lifecycle.write(event, { expect: { lastSequence: 0, ownSequence: 0 } });
  if (outcome.kind !== "stored" && outcome.kind !== "lost") {
    // What may be stored keeps its place: a reservation without a job ends by itself.
    if (outcome.kind !== "unconfirmed") await keys.withdraw(key, jobId);
    return err(createError(outcome, jobId));
  }
  if (reserved.value.kind !== "replaced") return ok({ kind: "accepted", jobId });
  const { replacedJobId } = reserved.value;
  await skipReplaced(dependencies, replacedJobId, key, jobId);
  return ok({ kind: "replaced", jobId, replacedJobId });
}

/** Creates keyed jobs all or nothing; the first that finds no room ends it. */
export async function createKeyedAtomically(
  dependencies: KeyedCreateDependencies,
  payloads: readonly unknown[],
  options: CreateOptions,
): Promise<Result<string[], CreateError>> {
  const placed: Reserved[] = [];
  const withdrawAll = () =>
    Promise.all(placed.map(({ key, event }) => dependencies.keys.withdraw(key, event.jobId)));
  for (const payload of payloads) {
    const built = await buildCreated(dependencies, payload, options);
    const reserved = built.ok ? await reserve(dependencies, built.value, "reject") : built;
    if (!reserved.ok) {
      await withdrawAll();
      return reserved;
    }
    if (reserved.value.kind !== "coalesced") placed.push(reserved.value);
  }
  const events = placed.map(({ event }) => event);
  const stored = await createAtomically(dependencies.lifecycle, events);
  if (stored.ok) return ok(events.map(({ jobId }) => jobId));
  if (stored.error.reason !== "unconfirmed") await withdrawAll();
  return stored;
}

async function reserve(
  { keys, settings, counts }: KeyedCreateDependencies,
  event: JobCreatedEvent,
  whenFull: WhenFull,
): Promise<Result<Reserved | Extract<KeyedCreation, { kind: "coalesced" }>, CreateError>> {
  const { jobId, concurrency: key, context: { requestId } } = event;
  if (key === undefined) throw new TypeError("Cannot create: a keyed job has no key");
  const admitted = await keys.admit({ key, jobId, requestId, whenFull });
  if (!admitted.ok) return err(keyTroubleError(admitted.error));
  const { value } = admitted;
  const reason = settings.queue?.maxQueuedPerKey === 0 ? "active-limit" : "queue-depth";
  switch (value.kind) {
    case "full":
      counts.count("rejected", value.reason);
      return err(fullKeyError(key, value));
    case "coalesced":
      counts.count("coalesced", reason);
      return ok({ kind: "coalesced", jobId: value.jobId });
    case "replaced": {
      counts.count("replaced", reason);
      const { replacedJobId } = value;
      return ok({ ...value, key, event: decidedBy(event, { outcome: "replaced", replacedJobId }) });
    }
    case "admitted":
      return ok({ ...value, key, event: decidedBy(event, { outcome: "accepted" }) });
  }
}

function decidedBy(event: JobCreatedEvent, queuePolicy: JobQueuePolicy): JobCreatedEvent {
  return { ...event, queuePolicy };
}

/** The key remembers who was replaced: if this fails, the worker that gets the old job skips it. */
async function skipReplaced(
  { history, log, queue }: KeyedCreateDependencies,
  replacedJobId: string,
  key: JobKey,
  byJobId: string,
): Promise<void> {
  await history.skip(replacedJobId, key, byJobId).catch((cause: unknown) => {
    log("warn", "skip-unwritten", { ...queue, jobId: replacedJobId, error: String(cause) });
  });
}

async function exists(history: KeyedJobs, jobId: string): Promise<boolean> {
  // When nobody answers, what follows will say so.
  return await history.fate(jobId).then(({ kind }) => kind !== "absent", () => false);
}
