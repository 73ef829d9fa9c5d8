import assert from "node:assert/strict";
import type { JobEvent } from "../protocol/mod.ts";
import { createTally, type JobBefore, KEPT_MS, measureEvent } from "./measure.ts";

const at = (second: number) =>
  new Date(Date.parse("2026-01-01T00:00:00.000Z") + second * 1_000).toISOString();
const QUEUE = { service: "billing", jobType: "charge" };

function measured(before: JobBefore | undefined, event: object): [string, number][] {
  const notes: [string, number][] = [];
  // Only what measuring looks at.
  measureEvent(
    before,
    event as JobEvent,
    (measure, durationMs) => notes.push([measure, durationMs]),
  );
  return notes;
}

Deno.test("measureEvent() measures the wait before the first try, and each run", () => {
  const pending = { state: "pending", updatedAt: at(0) } as const;
  const active = { state: "active", updatedAt: at(3), startedAt: at(3) } as const;
  const retry = { state: "retry", updatedAt: at(5), startedAt: at(3) } as const;
  assert.deepEqual(measured(undefined, { eventType: "created", timestamp: at(0) }), [[
    "created",
    0,
  ]]);
  assert.deepEqual(measured(pending, { eventType: "started", timestamp: at(3) }), [
    ["started", 0],
    ["wait", 3_000],
  ]);
  assert.deepEqual(measured(retry, { eventType: "started", timestamp: at(9) }), [["started", 0]]);
  assert.deepEqual(measured(active, { eventType: "retry", timestamp: at(5) }), [
    ["retry", 0],
    ["run", 2_000],
  ]);
  assert.deepEqual(measured(pending, { eventType: "cancelled", timestamp: at(5) }), [
    ["cancelled", 0],
  ]);
  assert.deepEqual(measured(active, { eventType: "progress", timestamp: at(5) }), []);
});

Deno.test("measureEvent() takes the start of an express try from its end, and no negative time", () => {
  const pending = { state: "pending", updatedAt: at(10) } as const;
  const express = { eventType: "completed", timestamp: at(14), startedAt: at(12) };
  assert.deepEqual(measured(pending, express), [["completed", 0], ["wait", 2_000], ["run", 2_000]]);
  assert.deepEqual(measured(pending, { eventType: "started", timestamp: at(3) }), [
    ["started", 0],
    ["wait", 0],
  ]);
});

Deno.test("createTally() adds up minutes and hours, and leaves out what is too old to be kept", () => {
  const fill = (now: number) => {
    const tally = createTally(now);
    for (const second of [1, 59, 60]) {
      const note = tally.at(QUEUE, at(second));
      note("started", 0);
      note("wait", 1_024);
    }
    return tally.deltas();
  };
  const sum = (resolution: string, count: number, begins: number) => ({
    resolution,
    at: at(begins),
    service: "billing",
    type: "charge",
    events: { started: count },
    wait: { count, sumMs: count * 1_024, sizes: { "20": count } },
    run: { count: 0, sumMs: 0, sizes: {} },
  });
  // Hours come in parts: whoever stores them adds them up.
  assert.deepEqual(fill(Date.parse(at(0))), [
    sum("minute", 2, 0),
    sum("hour", 2, 0),
    sum("minute", 1, 60),
    sum("hour", 1, 0),
  ]);
  assert.deepEqual(
    fill(Date.parse(at(60)) + KEPT_MS.minute).map(({ resolution, at }) => [resolution, at]),
    [
      ["hour", at(0)],
      ["minute", at(60)],
      ["hour", at(0)],
    ],
  );
  assert.deepEqual(fill(Date.parse(at(1)) + KEPT_MS.hour), []);
});
