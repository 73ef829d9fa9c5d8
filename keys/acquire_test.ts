import assert from "node:assert/strict";
import {
  acquireJob,
  admitJob,
  job,
  numbers,
  POLICY,
  stateWith,
  T0,
} from "../tests/keys_fixtures.ts";
import { handBack, release } from "./hold.ts";
import { expiredFrom, stoppedFrom } from "./lease.ts";
import { PATIENCE_MS } from "./line.ts";
import { RESERVATION_GRACE_MS } from "./reclaim.ts";

const TOKEN_1 = { jobId: job(1), slotToken: "token-1" };

Deno.test("acquire() gives the slot to the first in line, and lets the others wait", () => {
  const state = stateWith({ queued: [1, 2] });
  const second = acquireJob(state, 2);
  assert.equal(second.state, state, "nothing to write");
  assert.deepEqual(second.decision, { kind: "wait", why: "behind", until: T0 + PATIENCE_MS });
  const first = acquireJob(state, 1);
  assert.equal(first.decision.kind, "acquired");
  assert.deepEqual(numbers(first.state), { active: [1], queued: [2] });
  const busy = acquireJob(first.state, 2);
  assert.equal(busy.decision.kind === "wait" && busy.decision.why, "busy");
  const released = release(first.state, TOKEN_1, T0 + 5);
  assert.deepEqual(numbers(acquireJob(released.state, 2, { at: T0 + 6 }).state).active, [2]);
});

Deno.test("acquire() fills several slots at once, in line", () => {
  const policy = { maxActive: 2 };
  const state = stateWith({ queued: [1, 2, 3], policy });
  const decisions = [3, 2, 1].map((n) => acquireJob(state, n, { policy }).decision.kind);
  assert.deepEqual(decisions, ["wait", "acquired", "acquired"]);
});

Deno.test("acquire() repeated with the same token gives the same slot", () => {
  const first = acquireJob(undefined, 1);
  assert.deepEqual(acquireJob(first.state, 1, { at: T0 + 60_000 }), {
    state: first.state,
    decision: first.decision,
  });
});

Deno.test("acquire() lets a job have its own slot back once the old worker must have stopped", () => {
  const state = stateWith({ active: [1], queued: [2] });
  const [slot] = state.active;
  assert.ok(slot);
  const from = stoppedFrom(slot, POLICY.heartbeatIntervalMs);
  assert.ok(from < expiredFrom(slot), "before anybody else may have it");
  const early = acquireJob(state, 1, { token: "new", at: from - 1 });
  assert.deepEqual(early.decision, { kind: "wait", why: "own-slot", until: from });
  const taken = acquireJob(state, 1, { token: "new", at: from });
  assert.equal(taken.decision.kind === "acquired" && taken.decision.slot.slotToken, "new");
  assert.equal(taken.state?.staleTakeoverCount, 0);
});

Deno.test("acquire() lets those behind pass a head that waits out a backoff, until its time", () => {
  const notBefore = T0 + 600_000;
  const { state } = handBack(
    stateWith({ active: [1], queued: [2] }),
    { ...TOKEN_1, notBefore },
    T0,
  );
  assert.deepEqual(numbers(state), { active: [], queued: [1, 2] });
  assert.equal(acquireJob(state, 2, { at: T0 + 1 }).decision.kind, "acquired");
  assert.equal(acquireJob(state, 2, { at: notBefore + 1 }).decision.kind, "wait");
  assert.equal(
    acquireJob(state, 1, { at: notBefore - 500 }).decision.kind,
    "acquired",
    "delivered",
  );
});

Deno.test("acquire() passes a head that nobody claims, after a look, and once it has looked at once", () => {
  const policy = { maxActive: 1 };
  const state = stateWith({ queued: [1, 2, 3], policy });
  const late = T0 + PATIENCE_MS;
  const asked = acquireJob(state, 2, { at: late });
  assert.deepEqual(asked.decision, { kind: "ask", jobIds: [job(1)] });
  const passed = acquireJob(state, 2, { at: late, known: { 1: { kind: "waiting" } } });
  assert.deepEqual(numbers(passed.state), { active: [2], queued: [1, 3] });
  const freed = release(passed.state, { jobId: job(2), slotToken: "token-2" }, late + 1);
  assert.equal(acquireJob(freed.state, 3, { at: late + 2 }).decision.kind, "acquired");
  const back = acquireJob(freed.state, 1, { at: late + 2 });
  assert.equal(back.decision.kind, "acquired", "whoever comes back has its place");
  const phantom = acquireJob(state, 2, {
    at: T0 + RESERVATION_GRACE_MS + 1,
    known: { 1: { kind: "absent" } },
  });
  assert.deepEqual(numbers(phantom.state), { active: [2], queued: [3] });
});

Deno.test("acquire() puts a job that has no place at the end of the line, past the limit", () => {
  const policy = { maxQueuedPerKey: 1 };
  const state = stateWith({ active: [1], queued: [2], policy });
  const entered = acquireJob(state, 9, { policy });
  assert.equal(entered.decision.kind, "wait");
  assert.deepEqual(numbers(entered.state).queued, [2, 9]);
  assert.equal(acquireJob(entered.state, 9, { policy }).state, entered.state, "only once");
});

Deno.test("acquire() takes an expired slot only after `stale` is stored, and counts it", () => {
  const state = stateWith({ active: [1], queued: [2] });
  const at = T0 + POLICY.heartbeatTtlMs + 1_001;
  assert.equal(acquireJob(state, 2, { at: at - 1 }).decision.kind, "ask", "silent, not expired");
  const active = { 1: { kind: "active", slotToken: "token-1" } } as const;
  const early = acquireJob(state, 2, { at: at - 1, known: active });
  assert.deepEqual(early.decision, { kind: "wait", why: "busy", until: at });
  const { decision } = acquireJob(state, 2, { at, known: active });
  assert.deepEqual(decision, { kind: "supersede", slots: state.active, staleTakeoverCount: 0 });
  const stale = { 1: { kind: "ended", state: "stale", slotToken: "token-1" } } as const;
  const taken = acquireJob(state, 2, { at, known: stale });
  assert.deepEqual(numbers(taken.state), { active: [2], queued: [] });
  assert.equal(taken.decision.kind === "acquired" && taken.decision.staleTakeoverCount, 1);
});

Deno.test("acquire() puts a job back at its place whose slot expired before its try began", () => {
  const state = stateWith({ active: [1], queued: [2] });
  const at = T0 + POLICY.heartbeatTtlMs + 1_001;
  for (const fate of [{ kind: "waiting" }, { kind: "active", slotToken: "older" }] as const) {
    const reclaimed = acquireJob(state, 2, { at, known: { 1: fate } });
    assert.deepEqual(numbers(reclaimed.state), { active: [], queued: [1, 2] });
    assert.equal(reclaimed.decision.kind === "wait" && reclaimed.decision.why, "behind");
    assert.equal(reclaimed.state?.staleTakeoverCount, 0);
  }
});

Deno.test("acquire() waits behind an expired slot under `block`, and says so", () => {
  const policy = { stalePolicy: "block" } as const;
  const state = stateWith({ active: [1], queued: [2] });
  const known = { 1: { kind: "active", slotToken: "token-1" } } as const;
  const { decision } = acquireJob(state, 2, { at: T0 + 60_000, policy, known });
  assert.deepEqual(decision, { kind: "wait", why: "blocked" });
  const own = acquireJob(state, 1, { at: T0 + 60_000, policy, token: "new" });
  assert.equal(own.decision.kind, "acquired", "its own job may go on");
});

Deno.test("acquire() of a replaced job ends it if its replacement exists, else lets it run", () => {
  const policy = { maxQueuedPerKey: 1 };
  const full = stateWith({ active: [1], queued: [2], policy });
  const known = { 1: { kind: "active" }, 2: { kind: "waiting" } } as const;
  const { state } = admitJob(full, 3, { policy, whenFull: "replace-oldest", known });
  const ask = (fate: { kind: "absent" | "waiting" }, at = T0, skippable = true) =>
    acquireJob(state, 2, { policy, at, known: { 3: fate }, skippable }).decision;
  assert.deepEqual(acquireJob(state, 2, { policy }).decision, { kind: "ask", jobIds: [job(3)] });
  assert.deepEqual(ask({ kind: "waiting" }), { kind: "replaced", byJobId: job(3) });
  const until = T0 + RESERVATION_GRACE_MS + 1;
  assert.deepEqual(ask({ kind: "absent" }), { kind: "wait", why: "replacing", until });
  const late = acquireJob(state, 2, {
    policy,
    at: until,
    known: { 1: { kind: "waiting" }, 3: { kind: "absent" } },
  });
  assert.equal(numbers(late.state).queued.includes(2), true, "the replacement never came");
  assert.equal(ask({ kind: "waiting" }, T0, false).kind, "wait", "what was begun is not skipped");
});
