/**
 * The schema of a recorded declaration: what is read back may be another version's.
 *
 * @module
 */

import { z } from "zod";
import { decodeJson, schemaProblem } from "./codec.ts";
import { countSchema, nameSchema } from "./_fields.ts";
import type { QueueDeclaration } from "./queue_declaration.ts";
import { err, ok, type Result } from "./result.ts";

/** The schema of a recorded declaration. */
export const queueDeclarationSchema: z.ZodType<QueueDeclaration> = z.object({
  version: z.literal(1),
  service: nameSchema("service"),
  jobType: nameSchema("job type"),
  maxDeliver: z.int().positive(),
  backoffMs: z.union([z.array(z.number().nonnegative()), z.literal("custom")]),
  ackWaitMs: z.int().positive(),
  concurrency: z.int().positive(),
  timeoutMs: z.int().positive().exactOptional(),
  progress: z.boolean(),
  logs: z.boolean(),
  dlq: z.boolean(),
  defaultDeadlineMs: z.int().positive().exactOptional(),
  keyConcurrency: z.object({
    key: z.array(z.string()),
    maxActive: z.int().positive(),
    heartbeatIntervalMs: z.int().positive(),
    heartbeatTtlMs: z.int().positive(),
    stalePolicy: z.enum(["fail-stale", "block"]),
  }).exactOptional(),
  queue: z.object({
    maxQueuedPerKey: countSchema,
    whenFull: z.enum(["reject", "coalesce", "replace-oldest"]),
  }).exactOptional(),
  payloadSchema: z.union([z.boolean(), z.record(z.string(), z.unknown())]).exactOptional(),
  resultSchema: z.union([z.boolean(), z.record(z.string(), z.unknown())]).exactOptional(),
  schemaVersion: z.string().exactOptional(),
});

const recordSchema = z.object({ version: z.literal(1), queues: z.array(queueDeclarationSchema) });
/** Reads the recorded declarations of a service; nothing recorded is an empty list. */
export function decodeQueueRecord(
  value: Uint8Array | undefined,
): Result<readonly QueueDeclaration[], string> {
  if (value === undefined) return ok([]);
  const json = decodeJson(value);
  if (!json.ok) return err(json.error.message);
  const checked = recordSchema.safeParse(json.value);
  return checked.success
    ? ok(checked.data.queues)
    : err(schemaProblem(checked.error).error.message);
}
