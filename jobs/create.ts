/**
 * Creating jobs: validated payload → `created`, stored.
 *
 * @module
 */

import { monotonicFactory } from "ulid";
import {
  err,
  isHeaderText,
  type JobCreatedEvent,
  ok,
  type QueueAddress,
  type QueueSettings,
  type Result,
  type StandardSchema,
} from "../protocol/mod.ts";
import { CreateError, createError } from "./create_error.ts";
import { claimKey } from "./idempotency.ts";
import { createJobContext } from "./job_context.ts";
import type { QueueKeys } from "./key_port.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { validatePayload } from "./payload.ts";

/** What one job can be told beside its payload. */
export interface CreateOptions {
  /** The instant after which nobody wants the result. */
  readonly deadline?: Date;
  /** The same, counted from now. */
  readonly deadlineMs?: number;
  /** Tries of this job; the queue's `maxDeliver` when left out. */
  readonly maxTries?: number;
  /** The caller's request, for correlation. */
  readonly requestId?: string;
  /** The same key gives the same job back, in whatever process, as long as the window lasts. */
  readonly idempotencyKey?: string;
  /** How long the key is remembered; a day. */
  readonly idempotencyWindowMs?: number;
}

/** What creating needs. */
export interface CreateDependencies {
  /** The history. */
  readonly lifecycle: Lifecycle;
  /** The queue. */
  readonly queue: QueueAddress;
  /** Its settings. */
  readonly settings: QueueSettings;
  /** Schema of the payload. */
  readonly payload: StandardSchema;
  /** The present instant. */
  readonly clock: () => number;
  /** The keys of the queue, if it has any. */
  readonly keys?: Pick<QueueKeys, "derive">;
}

const DAY_MS = 86_400_000;

// Ids of one process grow also within a millisecond, and cost next to nothing.
const nextJobId = monotonicFactory();

/** Creates a job and gives its id once it is stored. */
export async function createJob(
  dependencies: CreateDependencies,
  payload: unknown,
  options: CreateOptions = {},
): Promise<Result<string, CreateError>> {
  const built = await buildCreated(dependencies, payload, options);
  if (!built.ok) return built;
  const event = built.value;
  const expect = { lastSequence: 0, ownSequence: 0 };
  const outcome = await dependencies.lifecycle.write(event, { expect });
  // The id is ours, or our key's: a conflict means that the job is there already.
  if (outcome.kind === "stored" || outcome.kind === "lost") return ok(event.jobId);
  return err(createError(outcome, event.jobId));
}

/** Judges the payload and makes the `created` event of a job. */
export async function buildCreated(
  { lifecycle, queue, settings, payload: schema, clock, keys }: CreateDependencies,
  payload: unknown,
  options: CreateOptions = {},
): Promise<Result<JobCreatedEvent, CreateError>> {
  checkOptions(options);
  const asked = validatePayload(schema, payload);
  const judged = asked instanceof Promise ? await asked : asked;
  if (!judged.ok) {
    return err(
      new CreateError(
        "invalid-payload",
        `Cannot create: the payload does not fit, ${judged.error}`,
      ),
    );
  }
  // Of what the schema gave back: a default or a coercion belongs to the key too.
  const key = keys === undefined ? undefined : await keys.derive(judged.value);
  if (key?.ok === false) {
    return err(new CreateError("invalid-key", `Cannot create: ${key.error.message}`));
  }
  const now = clock();
  const claimed = await claimId(lifecycle, queue, payload, options, now);
  if (!claimed.ok) return claimed;
  const deadline = deadlineOf(options, settings, now);
  return ok({
    jobId: claimed.value,
    service: queue.service,
    jobType: queue.jobType,
    eventType: "created",
    state: "pending",
    context: createJobContext(options.requestId),
    tries: 0,
    timestamp: new Date(now).toISOString(),
    // What was given is stored, not what the schema made of it: the worker's schema will see it again.
    payload: payload === undefined ? null : payload,
    maxTries: options.maxTries ?? settings.maxDeliver,
    ...(deadline !== undefined && { deadline }),
    ...(key !== undefined && { concurrency: key.value }),
  });
}

/** The job's id: a fresh one, or the one that the idempotency key stands for. */
async function claimId(
  { connection, publisher }: Lifecycle,
  queue: QueueAddress,
  payload: unknown,
  { idempotencyKey, idempotencyWindowMs: windowMs = DAY_MS }: CreateOptions,
  now: number,
): Promise<Result<string, CreateError>> {
  const jobId = nextJobId(now);
  if (idempotencyKey === undefined) return ok(jobId);
  const claim = await claimKey({
    connection,
    publisher,
    queue,
    idempotencyKey,
    payload,
    jobId,
    windowMs,
    now,
  });
  if (claim.kind === "job") return ok(claim.jobId);
  if (claim.kind === "other-payload") {
    const message =
      `Cannot create: the idempotency key stands for job ${claim.jobId}, which has another payload`;
    return err(new CreateError("idempotency-conflict", message, claim.jobId));
  }
  const message = `Cannot create: the idempotency key cannot be claimed, ${claim.description}`;
  return err(new CreateError("refused", message));
}

function deadlineOf(
  options: CreateOptions,
  settings: QueueSettings,
  now: number,
): string | undefined {
  if (options.deadline !== undefined) return options.deadline.toISOString();
  const afterMs = options.deadlineMs ?? settings.defaultDeadlineMs;
  return afterMs === undefined ? undefined : new Date(now + afterMs).toISOString();
}

function checkOptions({ maxTries, requestId, deadlineMs, deadline }: CreateOptions): void {
  if (maxTries !== undefined && !(Number.isInteger(maxTries) && maxTries >= 1)) {
    throw new RangeError(`Cannot create: maxTries is ${maxTries}, not a whole number from 1`);
  }
  if (deadlineMs !== undefined && !(deadlineMs >= 0 && deadlineMs < 1e13)) {
    throw new RangeError(
      `Cannot create: deadlineMs is ${deadlineMs}, not a number of milliseconds from 0`,
    );
  }
  if (deadline !== undefined && Number.isNaN(deadline.getTime())) {
    throw new RangeError("Cannot create: deadline is not a valid date");
  }
  if (requestId !== undefined && !isHeaderText(requestId)) {
    const shown = JSON.stringify(requestId.slice(0, 80));
    throw new TypeError(
      `Cannot create: requestId is ${shown}, not a text of 1 to 512 characters without line breaks`,
    );
  }
}
