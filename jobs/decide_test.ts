import assert from "node:assert/strict";
import { resolveQueue } from "../protocol/mod.ts";
import { decide, type DecideOptions, exhaustedEvent, type TryOutcome } from "./decide.ts";
import type { AbortReason } from "./handler_signals.ts";

const now = Date.parse("2026-01-01T00:00:00.000Z");
const settings = resolveQueue("charge", { backoffMs: [100, 1_000] });
const options: DecideOptions = { settings, now, random: () => 0.5 };
const ended = {
  jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
  service: "billing",
  jobType: "charge",
  context: { requestId: "r-1", traceId: "4bf92f3577b34da6a3ce929d0e0e4736", traceparent: "…" },
  tries: 1,
  maxTries: 3,
};
const { maxTries: _, ...address } = ended;
const shared = { ...address, previousState: "active", timestamp: "2026-01-01T00:00:00.000Z" };
const ack = { kind: "ack" };

function aborted(reason: AbortReason): TryOutcome {
  return { kind: "aborted", reason, message: "stop" };
}

Deno.test("decide() completes with the result, or without one", () => {
  const completed = { ...shared, eventType: "completed", state: "completed" };
  assert.deepEqual(decide(ended, { kind: "returned", result: { a: 1 } }, options), {
    event: { ...completed, result: { a: 1 } },
    settlement: ack,
  });
  const none = decide(ended, { kind: "returned", result: undefined }, options);
  assert.deepEqual(none, { event: completed, settlement: ack });
  assert.ok(none.event !== undefined && !("result" in none.event));
});

Deno.test("decide() tries again after the wait of the try, with jitter", () => {
  const threw: TryOutcome = { kind: "threw", message: "boom" };
  assert.deepEqual(decide(ended, threw, options), {
    event: { ...shared, eventType: "retry", state: "retry", error: "boom", reason: "error" },
    settlement: { kind: "nak", delayMs: 100 },
  });
  const delays = [1, 2].map((tries) =>
    [0, 0.5, 1].map((chance) =>
      decide({ ...ended, tries }, threw, { ...options, random: () => chance }).settlement
    )
  );
  assert.deepEqual(
    delays,
    [[90, 100, 110], [900, 1_000, 1_100]].map((row) =>
      row.map((delayMs) => ({ kind: "nak", delayMs }))
    ),
  );
});

Deno.test("decide() lets a handler choose the wait, but not more tries", () => {
  const later: TryOutcome = { kind: "retry-after", message: "busy", delayMs: 7 };
  assert.deepEqual(decide(ended, later, options).settlement, { kind: "nak", delayMs: 7 });
  assert.equal(decide({ ...ended, tries: 3 }, later, options).event?.eventType, "dead");
});

Deno.test("decide() ends the last try dead, or failed without a dead-letter queue", () => {
  const last = { ...ended, tries: 3 };
  const unburied = { ...options, settings: { ...settings, dlq: false } };
  for (const outcome of [{ kind: "threw", message: "boom" } as const, aborted("timeout")]) {
    const { event, settlement } = decide(last, outcome, options);
    assert.deepEqual([event?.eventType, settlement], ["dead", ack]);
    assert.equal(decide(last, outcome, unburied).event?.eventType, "failed");
  }
  const found = exhaustedEvent(address, "gone", "retry", options);
  assert.ok(found.eventType === "dead" && found.previousState === "retry");
});

Deno.test("decide() fails at once what can never succeed", () => {
  const { event, settlement } = decide(ended, { kind: "failed", message: "no" }, options);
  assert.deepEqual(event, { ...shared, eventType: "failed", state: "failed", error: "no" });
  assert.deepEqual(settlement, ack);
});

Deno.test("decide() gives the try back when the work was only put off, also the last one", () => {
  const snoozed: TryOutcome = { kind: "snoozed", message: "not yet", delayMs: 50 };
  for (const tries of [1, 3]) {
    for (
      const [outcome, reason, delayMs] of [
        [snoozed, "snooze", 50],
        [aborted("shutdown"), "shutdown", 0],
      ] as const
    ) {
      const { event, settlement } = decide({ ...ended, tries }, outcome, options);
      assert.ok(event?.eventType === "retry");
      assert.deepEqual([event.tries, event.reason], [tries - 1, reason]);
      assert.deepEqual(settlement, { kind: "nak", delayMs });
    }
  }
});

Deno.test("decide() writes nothing over an end that another has stored", () => {
  for (const reason of ["cancelled", "expired"] as const) {
    assert.deepEqual(decide(ended, aborted(reason), options), { settlement: ack });
  }
  for (const reason of ["superseded", "lease-lost"] as const) {
    assert.deepEqual(decide(ended, aborted(reason), options), { settlement: { kind: "leave" } });
  }
});
