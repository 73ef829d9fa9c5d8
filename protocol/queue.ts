/**
 * What a queue can be told, what it is when it is told nothing, and what it refuses.
 *
 * @module
 */

import { type Backoff, backoffProblem, DEFAULT_BACKOFF_MS } from "./backoff.ts";
import { parseKeyTemplate } from "./key_template.ts";
import { assertName } from "./names.ts";
import type { StandardSchema } from "./standard_schema.ts";

/** What happens when a worker finds the lease of a running job expired. */
export type StalePolicy = "fail-stale" | "block";

/** What `submit` does when a key is full. */
export type WhenFull = "reject" | "coalesce" | "replace-oldest";

/** At most so many jobs of one key at once. */
export interface KeyConcurrencyOptions {
  /** Constants, and JSON Pointers into the payload. */
  readonly key: readonly string[];
  /** Jobs of one key that may run at once; 1 when left out. */
  readonly maxActive?: number;
  /** How often a running job renews its lease; the least of 30 s and a third of `ackWaitMs`. */
  readonly heartbeatIntervalMs?: number;
  /** How long a lease lasts without renewal; `ackWaitMs` and three intervals. */
  readonly heartbeatTtlMs?: number;
  /** What happens to an expired lease; `fail-stale` when left out. */
  readonly stalePolicy?: StalePolicy;
}

/** How much may wait behind a busy key. */
export interface QueueDepthOptions {
  /** Jobs of one key that may wait; 0 when left out, at most {@linkcode MAX_QUEUED_PER_KEY}. */
  readonly maxQueuedPerKey?: number;
  /** What `submit` does when that is used up; `reject` when left out. */
  readonly whenFull?: WhenFull;
}

/** Everything about a queue but its schemas; all of it may be left out. */
export interface QueueOptions {
  /** Tries a job has, the first included; 5. */
  readonly maxDeliver?: number;
  /** Waits between tries; 5 s, 30 s, 2 min, 10 min, 30 min, the last repeats. */
  readonly backoffMs?: Backoff;
  /** How long a silent worker keeps a job before another gets it; 5 min. */
  readonly ackWaitMs?: number;
  /** Jobs that one process runs at once; 1. */
  readonly concurrency?: number;
  /** How long one try may take; no limit. */
  readonly timeoutMs?: number;
  /** Whether handlers may publish progress; true. */
  readonly progress?: boolean;
  /** Whether handlers may publish log lines; true. */
  readonly logs?: boolean;
  /** Whether a job that used up its tries is `dead` (true) or merely `failed`; true. */
  readonly dlq?: boolean;
  /** Deadline of jobs that are created without one, counted from creation; none. */
  readonly defaultDeadlineMs?: number;
  /** At most so many jobs of one key at once; no keys. */
  readonly keyConcurrency?: KeyConcurrencyOptions;
  /** How much may wait behind a busy key; only with `keyConcurrency`. */
  readonly queue?: QueueDepthOptions;
  /** To be changed together with a schema whose library cannot give a JSON Schema. */
  readonly schemaVersion?: string;
}

/** A queue as a service author writes it: schemas from any Standard Schema library, and options. */
export interface QueueDefinition<
  Payload extends StandardSchema = StandardSchema,
  Output extends StandardSchema = StandardSchema,
> extends QueueOptions {
  /** Schema of the job's input. */
  readonly payload: Payload;
  /** Schema of the handler's result; without it the handler returns nothing. */
  readonly result?: Output;
}

/** Key concurrency with every default filled in. */
export type KeyConcurrencySettings = Required<KeyConcurrencyOptions>;
/** Queue depth with every default filled in. */
export type QueueDepthSettings = Required<QueueDepthOptions>;

/** A queue with every default filled in and everything checked. */
export interface QueueSettings {
  /** Tries a job has, the first included. */
  readonly maxDeliver: number;
  /** Waits between tries. */
  readonly backoffMs: Backoff;
  /** How long a silent worker keeps a job before another gets it. */
  readonly ackWaitMs: number;
  /** Jobs that one process runs at once. */
  readonly concurrency: number;
  /** How long one try may take. */
  readonly timeoutMs?: number;
  /** Whether handlers may publish progress. */
  readonly progress: boolean;
  /** Whether handlers may publish log lines. */
  readonly logs: boolean;
  /** Whether a job that used up its tries is `dead` or merely `failed`. */
  readonly dlq: boolean;
  /** Deadline of jobs that are created without one, counted from creation. */
  readonly defaultDeadlineMs?: number;
  /** At most so many jobs of one key at once. */
  readonly keyConcurrency?: KeyConcurrencySettings;
  /** How much may wait behind a busy key. */
  readonly queue?: QueueDepthSettings;
  /** The author's own version of the schemas. */
  readonly schemaVersion?: string;
}

/** The most jobs that may wait behind one key: its state is one entry, rewritten on each change. */
export const MAX_QUEUED_PER_KEY = 1_000;

const WHEN_FULL: readonly WhenFull[] = ["reject", "coalesce", "replace-oldest"];
const STALE_POLICIES: readonly StalePolicy[] = ["fail-stale", "block"];
const YEAR_MS = 365 * 24 * 3_600_000;
// Timers count in 32 bits; a longer one would fire at once.
const TIMER_MS = 2 ** 31 - 1;

/**
 * Fills in a queue's defaults and checks everything; throws `TypeError` or `RangeError` at once,
 * because an illegal definition is a bug of the service, not something to handle.
 *
 * @example
 * ```ts
 * import { resolveQueue } from "./queue.ts";
 * import assert from "node:assert/strict";
 *
 * assert.equal(resolveQueue("charge", {}).maxDeliver, 5);
 * assert.throws(() => resolveQueue("charge", { concurrency: 0 }), /concurrency is 0/);
 * ```
 */
export function resolveQueue(jobType: string, options: QueueOptions): QueueSettings {
  assertName("job type", jobType);
  const refuse = (reason: string) =>
    new RangeError(`Cannot define the queue ${jobType}: ${reason}`);
  const whole = (field: string, value: number, least: number, most: number): number => {
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    const shown = typeof value === "number" ? String(value) : JSON.stringify(value);
    throw refuse(`${field} is ${shown}, not a whole number from ${least} to ${most}`);
  };
  for (const field of ["progress", "logs", "dlq"] as const) {
    const value = options[field];
    if (value !== undefined && typeof value !== "boolean") {
      throw refuse(`${field} is ${JSON.stringify(value)}, not true or false`);
    }
  }
  const { schemaVersion } = options;
  if (schemaVersion !== undefined && typeof schemaVersion !== "string") {
    throw refuse(`schemaVersion is ${JSON.stringify(schemaVersion)}, not a text`);
  }
  const backoff = options.backoffMs ?? DEFAULT_BACKOFF_MS;
  const problem = backoffProblem(backoff);
  if (problem !== undefined) throw refuse(problem);
  const ackWaitMs = whole("ackWaitMs", options.ackWaitMs ?? 300_000, 1_000, TIMER_MS);
  if (options.queue !== undefined && options.keyConcurrency === undefined) {
    throw refuse("queue is given without keyConcurrency, it limits what waits behind a key");
  }
  return {
    maxDeliver: whole("maxDeliver", options.maxDeliver ?? 5, 1, 1_000_000),
    backoffMs: backoff,
    ackWaitMs,
    concurrency: whole("concurrency", options.concurrency ?? 1, 1, 10_000),
    progress: options.progress ?? true,
    logs: options.logs ?? true,
    dlq: options.dlq ?? true,
    ...(options.timeoutMs !== undefined && {
      timeoutMs: whole("timeoutMs", options.timeoutMs, 1, TIMER_MS),
    }),
    ...(options.defaultDeadlineMs !== undefined && {
      defaultDeadlineMs: whole("defaultDeadlineMs", options.defaultDeadlineMs, 1, 10 * YEAR_MS),
    }),
    ...(options.keyConcurrency !== undefined && {
      keyConcurrency: resolveKeys(options.keyConcurrency, ackWaitMs, whole, refuse),
      queue: {
        maxQueuedPerKey: whole(
          "queue.maxQueuedPerKey",
          options.queue?.maxQueuedPerKey ?? 0,
          0,
          MAX_QUEUED_PER_KEY,
        ),
        whenFull: oneOf("queue.whenFull", options.queue?.whenFull ?? "reject", WHEN_FULL, refuse),
      },
    }),
    ...(options.schemaVersion !== undefined && { schemaVersion: options.schemaVersion }),
  };
}

function resolveKeys(
  options: KeyConcurrencyOptions,
  ackWaitMs: number,
  whole: (field: string, value: number, least: number, most: number) => number,
  refuse: (reason: string) => Error,
): KeyConcurrencySettings {
  const template = parseKeyTemplate(options.key);
  if (!template.ok) throw refuse(template.error);
  const interval = options.heartbeatIntervalMs ?? Math.min(30_000, Math.floor(ackWaitMs / 3));
  const ttl = options.heartbeatTtlMs ?? ackWaitMs + 3 * interval;
  if (ttl <= interval) {
    throw refuse(
      `keyConcurrency.heartbeatTtlMs is ${ttl}, it must exceed heartbeatIntervalMs, which is ${interval}`,
    );
  }
  return {
    key: options.key,
    maxActive: whole("keyConcurrency.maxActive", options.maxActive ?? 1, 1, 1_000),
    heartbeatIntervalMs: whole("keyConcurrency.heartbeatIntervalMs", interval, 100, TIMER_MS),
    heartbeatTtlMs: whole("keyConcurrency.heartbeatTtlMs", ttl, 200, 2 * TIMER_MS),
    stalePolicy: oneOf(
      "keyConcurrency.stalePolicy",
      options.stalePolicy ?? "fail-stale",
      STALE_POLICIES,
      refuse,
    ),
  };
}

/** The compiler checks this for TypeScript; a JavaScript author is told at the definition too. */
function oneOf<Value extends string>(
  field: string,
  value: Value,
  known: readonly Value[],
  refuse: (reason: string) => Error,
): Value {
  if (known.includes(value)) return value;
  throw refuse(`${field} is ${JSON.stringify(value)}, known are ${known.join(", ")}`);
}
