import assert from "node:assert/strict";
import { admitJob, type fates, job, numbers, stateWith, T0 } from "../tests/keys_fixtures.ts";
import { RESERVATION_GRACE_MS } from "./reclaim.ts";

Deno.test("admit() takes jobs in up to what may run and wait, and then asks before it refuses", () => {
  const limits = { maxActive: 1, maxQueuedPerKey: 1 };
  const one = admitJob(undefined, 1, { policy: limits });
  const two = admitJob(one.state, 2, { policy: limits });
  assert.deepEqual([one.decision.kind, two.decision.kind], ["admitted", "admitted"]);
  const asked = admitJob(two.state, 3, { policy: limits });
  assert.deepEqual(asked, {
    state: two.state,
    decision: { kind: "ask", jobIds: [job(1), job(2)] },
  });
  const known = { 1: { kind: "waiting" }, 2: { kind: "waiting" } } as const;
  const refused = admitJob(two.state, 3, { policy: limits, known });
  assert.equal(refused.state, two.state);
  assert.deepEqual(refused.decision, {
    kind: "full",
    reason: "queue-depth",
    active: 0,
    queued: 2,
    limit: 2,
  });
});

Deno.test("admit() names the limit: nothing may wait, too many wait, or the key is blocked", () => {
  const policy = { maxQueuedPerKey: 0 };
  const state = stateWith({ active: [1], policy });
  const known = { 1: { kind: "active", slotToken: "token-1" } } as const;
  const reasonOf = ({ decision }: ReturnType<typeof admitJob>) =>
    decision.kind === "full" ? decision.reason : decision.kind;
  assert.equal(reasonOf(admitJob(state, 2, { policy, known })), "active-limit");
  const later = { at: T0 + 60_000, known };
  const block = { ...policy, stalePolicy: "block" } as const;
  assert.equal(reasonOf(admitJob(state, 2, { ...later, policy: block })), "stale-blocked");
  assert.equal(reasonOf(admitJob(state, 2, { ...later, policy })), "supersede");
});

Deno.test("admit() gives a job that is there already the same answer", () => {
  const state = stateWith({ active: [1], queued: [2], policy: { maxQueuedPerKey: 1 } });
  for (const n of [1, 2]) {
    const again = admitJob(state, n, { policy: { maxQueuedPerKey: 1 } });
    assert.deepEqual(again, { state, decision: { kind: "admitted" } });
  }
});

Deno.test("admit() makes room: a phantom, an ended waiter, an owner that ended its own job", () => {
  const policy = { maxQueuedPerKey: 1, heartbeatTtlMs: 600_000 };
  const state = stateWith({ active: [1], queued: [2], policy });
  const live = { 1: { kind: "active", slotToken: "token-1" } } as const;
  const phantom = { ...live, 2: { kind: "absent" } } as const;
  assert.equal(admitJob(state, 3, { policy, known: phantom }).decision.kind, "full", "too young");
  const late = admitJob(state, 3, { policy, known: phantom, at: T0 + RESERVATION_GRACE_MS + 1 });
  assert.deepEqual(numbers(late.state), { active: [1], queued: [3] });
  const cancelled = { ...live, 2: { kind: "ended", state: "cancelled" } } as const;
  assert.deepEqual(numbers(admitJob(state, 3, { policy, known: cancelled }).state), {
    active: [1],
    queued: [3],
  });
  const completed = {
    1: { kind: "ended", state: "completed", slotToken: "token-1" },
    2: { kind: "waiting" },
  } as const;
  assert.deepEqual(numbers(admitJob(state, 3, { policy, known: completed }).state), {
    active: [],
    queued: [2, 3],
  });
});

Deno.test("admit() does not believe a cancel that the slot is free: the handler may go on", () => {
  const policy = { maxQueuedPerKey: 0 };
  const state = stateWith({ active: [1], policy });
  const known = { 1: { kind: "ended", state: "cancelled" } } as const;
  assert.equal(admitJob(state, 2, { policy, known }).decision.kind, "full");
  const freed = admitJob(state, 2, { policy, known, at: T0 + 60_000 });
  assert.deepEqual(numbers(freed.state), { active: [], queued: [2] });
});

Deno.test("admit() coalesces into the newest that waits, else the oldest that runs, never a phantom", () => {
  const policy = { maxActive: 2, maxQueuedPerKey: 2 };
  const state = stateWith({ active: [1, 2], queued: [3, 4], policy });
  const coalesced = (known: Parameters<typeof fates>[0]) => {
    const { decision } = admitJob(state, 5, { policy, whenFull: "coalesce", known });
    return decision.kind === "coalesced" ? Number(decision.jobId.slice(-6)) : decision.kind;
  };
  const runs = { 1: { kind: "active" }, 2: { kind: "active" } } as const;
  const [waiting, absent] = [{ kind: "waiting" }, { kind: "absent" }] as const;
  assert.equal(coalesced({ ...runs, 3: waiting, 4: waiting }), 4);
  assert.equal(coalesced({ ...runs, 3: waiting, 4: absent }), 3);
  assert.equal(coalesced({ ...runs, 3: absent, 4: absent }), 1);
  const ended = { kind: "ended", state: "cancelled" } as const;
  assert.equal(coalesced({ 1: ended, 2: ended, 3: absent, 4: absent }), "unsettled");
});

Deno.test("admit() replaces the oldest that waits, tells which, and never one that runs", () => {
  const policy = { maxQueuedPerKey: 2 };
  const state = stateWith({ active: [1], queued: [2, 3], policy });
  const known = {
    1: { kind: "active", slotToken: "token-1" },
    2: { kind: "waiting" },
    3: { kind: "waiting" },
  } as const;
  const replaced = admitJob(state, 4, { policy, whenFull: "replace-oldest", known });
  assert.deepEqual(replaced.decision, { kind: "replaced", replacedJobId: job(2) });
  assert.deepEqual(numbers(replaced.state), { active: [1], queued: [3, 4] });
  const again = admitJob(replaced.state, 4, { policy, whenFull: "replace-oldest" });
  assert.deepEqual(again.decision, replaced.decision, "after a lost answer");
  const none = stateWith({ active: [1], policy: { maxQueuedPerKey: 0 } });
  const refused = admitJob(none, 4, {
    policy: { maxQueuedPerKey: 0 },
    whenFull: "replace-oldest",
    known,
  });
  assert.equal(refused.decision.kind, "full");
});
