/**
 * A queue as it is recorded for others to read: plain JSON, no functions.
 *
 * @module
 */

import { z } from "zod";
import { type Backoff, backoffMs } from "./backoff.ts";
import type { KeyConcurrencySettings, QueueDefinition, QueueDepthSettings } from "./queue.ts";
import { resolveQueue } from "./queue.ts";
import type { JsonSchema } from "./schema_change.ts";
import type { StandardSchema } from "./standard_schema.ts";
import type { QueueAddress } from "./subjects.ts";

/** What a service has declared about one of its queues. */
export interface QueueDeclaration extends QueueAddress {
  /** Version of this record's form. */
  readonly version: 1;
  /** Tries a job has. */
  readonly maxDeliver: number;
  /** The wait after each try, one per try; `custom` when a function decides. */
  readonly backoffMs: readonly number[] | "custom";
  /** How long a silent worker keeps a job. */
  readonly ackWaitMs: number;
  /** Jobs that one process runs at once. */
  readonly concurrency: number;
  /** How long one try may take. */
  readonly timeoutMs?: number;
  /** Whether handlers may publish progress. */
  readonly progress: boolean;
  /** Whether handlers may publish log lines. */
  readonly logs: boolean;
  /** Whether exhausted jobs are `dead`. */
  readonly dlq: boolean;
  /** Deadline of jobs created without one. */
  readonly defaultDeadlineMs?: number;
  /** The key policy. */
  readonly keyConcurrency?: KeyConcurrencySettings;
  /** The depth policy. */
  readonly queue?: QueueDepthSettings;
  /** JSON Schema of the payload, where the library can give one. */
  readonly payloadSchema?: JsonSchema;
  /** JSON Schema of the result, where the library can give one. */
  readonly resultSchema?: JsonSchema;
  /** The author's own version of the schemas. */
  readonly schemaVersion?: string;
}

/**
 * Records a queue's definition; throws like {@linkcode resolveQueue} when it is illegal.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { declareQueue } from "./queue_declaration.ts";
 * import assert from "node:assert/strict";
 *
 * const declared = declareQueue({ service: "billing", jobType: "charge" }, {
 *   payload: z.object({ cents: z.number() }),
 *   maxDeliver: 2,
 * });
 * assert.deepEqual(declared.backoffMs, [5000]);
 * ```
 */
export function declareQueue(queue: QueueAddress, definition: QueueDefinition): QueueDeclaration {
  const { backoffMs: backoff, ...settings } = resolveQueue(queue.jobType, definition);
  const payloadSchema = jsonSchemaOf(definition.payload, "input");
  const resultSchema = jsonSchemaOf(definition.result, "output");
  return {
    version: 1,
    service: queue.service,
    jobType: queue.jobType,
    ...settings,
    backoffMs: recordedBackoff(backoff, settings.maxDeliver),
    ...(payloadSchema !== undefined && { payloadSchema }),
    ...(resultSchema !== undefined && { resultSchema }),
  };
}

/** Only waits that can happen are recorded, in one form, so that equal behaviour compares equal. */
function recordedBackoff(backoff: Backoff, maxDeliver: number): readonly number[] | "custom" {
  if (typeof backoff === "function") return "custom";
  const waits = Array.from(
    { length: Math.min(maxDeliver - 1, 100) },
    (_, index) => backoffMs(backoff, index + 1),
  );
  return waits;
}

/**
 * Asks a schema for its JSON Schema the way Standard Schema's JSON Schema extension has it; a
 * library without the extension, or a schema that has no JSON form, gives `undefined`.
 */
function jsonSchemaOf(
  schema: StandardSchema | undefined,
  side: "input" | "output",
): JsonSchema | undefined {
  const standard = schema?.["~standard"];
  if (standard === undefined || !("jsonSchema" in standard)) return undefined;
  const converter = jsonSchemaConverter.safeParse(standard.jsonSchema);
  if (!converter.success) return undefined;
  try {
    const made = jsonSchemaShape.safeParse(converter.data[side]({ target: "draft-2020-12" }));
    return made.success ? made.data : undefined;
  } catch {
    // Libraries throw for what JSON Schema cannot say; then `schemaVersion` speaks.
    return undefined;
  }
}

type Convert = (options: { target: string }) => unknown;
const convert = z.custom<Convert>((value) => typeof value === "function");
const jsonSchemaConverter = z.looseObject({ input: convert, output: convert });
const jsonSchemaShape = z.record(z.string(), z.unknown());
