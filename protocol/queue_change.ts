/**
 * What a changed queue declaration means: a harmless update, or a migration somebody must allow.
 *
 * @module
 */

import type { QueueDeclaration } from "./queue_declaration.ts";
import { acceptsAllOf, canonicalJson } from "./schema_change.ts";

/** How much a change matters. */
export type QueueChangeKind = "none" | "update" | "migration";

/** One difference, judged. */
export interface QueueChangeReason {
  /** How much this difference matters. */
  readonly kind: "update" | "migration";
  /** The field that differs; `queue` for the queue as a whole. */
  readonly field: string;
  /** A sentence for people. */
  readonly message: string;
}

/** All differences, and the gravest of them. */
export interface QueueChange {
  /** The gravest kind among the reasons. */
  readonly kind: QueueChangeKind;
  /** Every difference. */
  readonly reasons: readonly QueueChangeReason[];
}

/**
 * Compares two recorded declarations of a queue; `undefined` is a queue that is not declared.
 *
 * A migration can refuse, skip, cut short or double work that the old declaration would have run.
 * Turning the dead-letter queue off is always one: whether failures are outstanding is not known here.
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { declareQueue } from "./queue_declaration.ts";
 * import { classifyQueueChange } from "./queue_change.ts";
 * import assert from "node:assert/strict";
 *
 * const queue = { service: "billing", jobType: "charge" };
 * const before = declareQueue(queue, { payload: z.string(), maxDeliver: 5 });
 * const after = declareQueue(queue, { payload: z.string(), maxDeliver: 3 });
 * assert.equal(classifyQueueChange(before, after).kind, "migration");
 * assert.equal(classifyQueueChange(after, before).kind, "update");
 * ```
 */
export function classifyQueueChange(
  before: QueueDeclaration | undefined,
  after: QueueDeclaration | undefined,
): QueueChange {
  const reasons = compare(before, after);
  const migrates = reasons.some((reason) => reason.kind === "migration");
  return { kind: migrates ? "migration" : reasons.length > 0 ? "update" : "none", reasons };
}

function compare(
  before: QueueDeclaration | undefined,
  after: QueueDeclaration | undefined,
): QueueChangeReason[] {
  if (before === undefined && after === undefined) return [];
  if (before === undefined) return [update("queue", "the queue is added")];
  if (after === undefined) return [migration("queue", "the queue is removed")];
  return [
    ...limit("maxDeliver", before.maxDeliver, after.maxDeliver),
    ...limit("ackWaitMs", before.ackWaitMs, after.ackWaitMs),
    ...limit("timeoutMs", before.timeoutMs ?? Infinity, after.timeoutMs ?? Infinity),
    ...backoff(before, after),
    ...noted("concurrency", before.concurrency, after.concurrency),
    ...noted("progress", before.progress, after.progress),
    ...noted("logs", before.logs, after.logs),
    ...noted("defaultDeadlineMs", before.defaultDeadlineMs, after.defaultDeadlineMs),
    ...deadLetters(before.dlq, after.dlq),
    ...keys(before, after),
    ...schema("payloadSchema", before, after),
    ...schema("resultSchema", before, after),
  ];
}

function deadLetters(before: boolean, after: boolean): QueueChangeReason[] {
  if (before === after) return [];
  if (after) return [update("dlq", "the dead-letter queue is turned on")];
  return [migration("dlq", "the dead-letter queue is turned off, dead jobs may be outstanding")];
}

function backoff(before: QueueDeclaration, after: QueueDeclaration): QueueChangeReason[] {
  const [old, now] = [before.backoffMs, after.backoffMs];
  if (canonicalJson(old) === canonicalJson(now)) return [];
  if (old === "custom" || now === "custom") {
    return [migration("backoffMs", "a function decides the waits, they cannot be compared")];
  }
  const shared = Math.min(old.length, now.length);
  const index = old.findIndex((wait, index) => index < shared && (now[index] ?? 0) < wait);
  if (index >= 0) {
    const text = `the wait after try ${index + 1} falls from ${old[index]} to ${now[index]} ms`;
    return [migration("backoffMs", text)];
  }
  // Waits come and go with maxDeliver, which speaks for itself.
  const longer = old.some((wait, index) => index < shared && (now[index] ?? 0) > wait);
  return longer ? [update("backoffMs", "the waits get longer")] : [];
}

function keys(before: QueueDeclaration, after: QueueDeclaration): QueueChangeReason[] {
  const [old, now] = [before.keyConcurrency, after.keyConcurrency];
  if (old === undefined && now === undefined) return [];
  if (old === undefined) {
    return [migration("keyConcurrency", "a key is added, work may be refused that was accepted")];
  }
  if (now === undefined) {
    return [migration("keyConcurrency", "the key is removed, work of one key may run at once")];
  }
  const reasons = [
    ...limit("keyConcurrency.maxActive", old.maxActive, now.maxActive),
    ...noted(
      "keyConcurrency.heartbeatIntervalMs",
      old.heartbeatIntervalMs,
      now.heartbeatIntervalMs,
    ),
    ...noted("keyConcurrency.heartbeatTtlMs", old.heartbeatTtlMs, now.heartbeatTtlMs),
    ...limit(
      "queue.maxQueuedPerKey",
      before.queue?.maxQueuedPerKey ?? 0,
      after.queue?.maxQueuedPerKey ?? 0,
    ),
    ...whenFull(before.queue?.whenFull ?? "reject", after.queue?.whenFull ?? "reject"),
  ];
  if (canonicalJson(old.key) !== canonicalJson(now.key)) {
    const text = "the key template changes, jobs under the old and the new key may run at once";
    reasons.push(migration("keyConcurrency.key", text));
  }
  if (old.stalePolicy !== now.stalePolicy) {
    const text = `the stale policy changes from ${old.stalePolicy} to ${now.stalePolicy}`;
    reasons.push(migration("keyConcurrency.stalePolicy", text));
  }
  return reasons;
}

function whenFull(before: string, after: string): QueueChangeReason[] {
  if (before === after) return [];
  const text = `queue.whenFull changes from ${before} to ${after}`;
  return [before === "reject" ? update("queue.whenFull", text) : migration("queue.whenFull", text)];
}

function schema(
  field: "payloadSchema" | "resultSchema",
  before: QueueDeclaration,
  after: QueueDeclaration,
): QueueChangeReason[] {
  const [old, now] = [before[field], after[field]];
  if (old !== undefined && now !== undefined) {
    if (canonicalJson(old) === canonicalJson(now)) return [];
    return acceptsAllOf(old, now)
      ? [update(field, "the schema accepts more")]
      : [migration(field, "the schema may refuse what it accepted")];
  }
  const vouched = before.schemaVersion !== undefined &&
    before.schemaVersion === after.schemaVersion;
  if ((old === undefined) !== (now === undefined)) {
    const text = "a schema comes or goes, or has no JSON Schema on one side: it cannot be compared";
    return vouched ? [] : [migration(field, text)];
  }
  // Where the payloads' schemas could be compared, a result without one is a queue without result.
  const compared = before.payloadSchema !== undefined && after.payloadSchema !== undefined;
  if (field === "resultSchema" && compared) return [];
  // Without a JSON Schema on both sides the author's own version is all there is.
  if (before.schemaVersion === after.schemaVersion) return [];
  const versions = `${before.schemaVersion ?? "none"} to ${after.schemaVersion ?? "none"}`;
  return [migration(field, `schemaVersion changes from ${versions}`)];
}

/** A number that lets more through when it grows and less when it falls. */
function limit(field: string, before: number, after: number): QueueChangeReason[] {
  if (before === after) return [];
  const text = (verb: string) => `${field} ${verb} from ${shown(before)} to ${shown(after)}`;
  return [after > before ? update(field, text("grows")) : migration(field, text("falls"))];
}

/** A value that affects pace or new jobs only. */
function noted(field: string, before: unknown, after: unknown): QueueChangeReason[] {
  if (before === after) return [];
  return [update(field, `${field} changes from ${before ?? "none"} to ${after ?? "none"}`)];
}

function shown(value: number): string {
  return value === Infinity ? "no limit" : String(value);
}

function update(field: string, message: string): QueueChangeReason {
  return { kind: "update", field, message };
}

function migration(field: string, message: string): QueueChangeReason {
  return { kind: "migration", field, message };
}
