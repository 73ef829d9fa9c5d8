import assert from "node:assert/strict";
import { z } from "zod";
import type { QueueDefinition, QueueOptions } from "./queue.ts";
import { classifyQueueChange } from "./queue_change.ts";
import { declareQueue, type QueueDeclaration } from "./queue_declaration.ts";
import { queueDeclarationSchema } from "./queue_declaration_schema.ts";
import type { StandardSchema } from "./standard_schema.ts";

const QUEUE = { service: "billing", jobType: "charge" };
const payload = z.object({ id: z.string() });
const declare = (options: QueueOptions & Partial<QueueDefinition>): QueueDeclaration =>
  declareQueue(QUEUE, { payload, ...options });
const keyed = { keyConcurrency: { key: ["/id"], maxActive: 2 } } as const;

/** A schema of a library that cannot give a JSON Schema. */
const opaque: StandardSchema = {
  "~standard": { version: 1, vendor: "opaque", validate: (value) => ({ value }) },
};

/** Each row: what changes, from, to, and how it is judged in that and in the other direction. */
const ROWS: [
  string,
  QueueDefinition | QueueOptions,
  QueueDefinition | QueueOptions,
  string,
  string,
][] = [
  ["maxDeliver", { maxDeliver: 3 }, { maxDeliver: 5 }, "update", "migration"],
  ["ackWaitMs", { ackWaitMs: 5_000 }, { ackWaitMs: 9_000 }, "update", "migration"],
  ["timeoutMs", { timeoutMs: 5_000 }, {}, "update", "migration"],
  ["backoffMs", { backoffMs: [1] }, { backoffMs: [1, 2] }, "update", "migration"],
  ["backoffMs", {}, { backoffMs: () => 1 }, "migration", "migration"],
  ["concurrency", { concurrency: 1 }, { concurrency: 4 }, "update", "update"],
  ["progress", { progress: false }, {}, "update", "update"],
  ["logs", { logs: false }, {}, "update", "update"],
  ["dlq", { dlq: false }, { dlq: true }, "update", "migration"],
  ["defaultDeadlineMs", {}, { defaultDeadlineMs: 5 }, "update", "update"],
  ["keyConcurrency", {}, keyed, "migration", "migration"],
  [
    "keyConcurrency.key",
    keyed,
    { keyConcurrency: { ...keyed.keyConcurrency, key: ["a", "/id"] } },
    "migration",
    "migration",
  ],
  [
    "keyConcurrency.maxActive",
    keyed,
    { keyConcurrency: { key: ["/id"], maxActive: 3 } },
    "update",
    "migration",
  ],
  [
    "keyConcurrency.stalePolicy",
    keyed,
    { keyConcurrency: { ...keyed.keyConcurrency, stalePolicy: "block" } },
    "migration",
    "migration",
  ],
  [
    "queue.maxQueuedPerKey",
    keyed,
    { ...keyed, queue: { maxQueuedPerKey: 1 } },
    "update",
    "migration",
  ],
  ["queue.whenFull", keyed, { ...keyed, queue: { whenFull: "coalesce" } }, "update", "migration"],
  [
    "queue.whenFull",
    { ...keyed, queue: { whenFull: "replace-oldest" } },
    { ...keyed, queue: { whenFull: "coalesce" } },
    "migration",
    "migration",
  ],
  [
    "payloadSchema",
    { payload: z.object({ id: z.string() }) },
    { payload: z.object({ id: z.string(), note: z.string().optional() }) },
    "update",
    "update",
  ],
  [
    "payloadSchema",
    { payload: z.object({ id: z.string() }) },
    { payload: z.object({ id: z.string(), note: z.string() }) },
    "migration",
    "update",
  ],
  [
    "resultSchema",
    { payload, result: z.object({ n: z.number().min(0) }) },
    { payload, result: z.object({ n: z.number() }) },
    "update",
    "migration",
  ],
  ["payloadSchema", { payload }, { payload: opaque }, "migration", "migration"],
  ["payloadSchema", { payload }, { payload: z.date() }, "migration", "migration"],
  ["resultSchema", { payload }, { payload, result: z.string() }, "migration", "migration"],
  [
    "payloadSchema",
    { payload: opaque, schemaVersion: "1" },
    { payload: opaque, schemaVersion: "2" },
    "migration",
    "migration",
  ],
];

Deno.test("classifyQueueChange() judges every kind of change in both directions", () => {
  for (const [field, from, to, forth, back] of ROWS) {
    const [before, after] = [declare(from), declare(to)];
    for (const [old, now, kind] of [[before, after, forth], [after, before, back]] as const) {
      const change = classifyQueueChange(old, now);
      assert.equal(change.kind, kind, `${field}: ${JSON.stringify(change.reasons)}`);
      const reason = change.reasons.find((reason) => reason.field === field);
      assert.equal(reason?.kind, kind, field);
      assert.ok(reason && reason.message.length > 10);
    }
  }
});

Deno.test("classifyQueueChange() finds nothing in an unchanged declaration that went through JSON", () => {
  for (const [, from, to] of ROWS) {
    for (const options of [from, to]) {
      const declared = declare(options);
      const recorded = queueDeclarationSchema.parse(JSON.parse(JSON.stringify(declared)));
      assert.deepEqual(classifyQueueChange(recorded, declared), { kind: "none", reasons: [] });
    }
  }
});

Deno.test("classifyQueueChange() calls a new queue an update and a removed one a migration", () => {
  assert.equal(classifyQueueChange(undefined, declare({})).kind, "update");
  assert.equal(classifyQueueChange(declare({}), undefined).kind, "migration");
  assert.equal(classifyQueueChange(undefined, undefined).kind, "none");
});

Deno.test("classifyQueueChange() compares policies by the waits they lead to", () => {
  const listed = declare({ maxDeliver: 4, backoffMs: [100, 200, 400] });
  const named = declare({ maxDeliver: 4, backoffMs: { policy: "exponential", firstMs: 100 } });
  assert.equal(classifyQueueChange(listed, named).kind, "none");
});

Deno.test("classifyQueueChange() gives the gravest kind and every reason", () => {
  const change = classifyQueueChange(
    declare({ maxDeliver: 5, concurrency: 1 }),
    declare({ maxDeliver: 3, concurrency: 2 }),
  );
  assert.equal(change.kind, "migration");
  assert.deepEqual(change.reasons.map(({ field, kind }) => `${field} ${kind}`), [
    "maxDeliver migration",
    "concurrency update",
  ]);
});
