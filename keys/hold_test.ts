import assert from "node:assert/strict";
import { fates, job, numbers, POLICY, stateWith, T0 } from "../tests/keys_fixtures.ts";
import { handBack, release, renew, withdraw } from "./hold.ts";
import { isExpired } from "./lease.ts";
import { revoke } from "./revoke.ts";

const OWNER = { jobId: job(1), slotToken: "token-1" };
const OTHER = { jobId: job(1), slotToken: "another" };
const TTL = { ttlMs: POLICY.heartbeatTtlMs };

Deno.test("renew() extends the owner's lease, also one that ran out and nobody took", () => {
  const state = stateWith({ active: [1] });
  const at = T0 + 60_000;
  const renewed = renew(state, { ...OWNER, ...TTL }, at);
  assert.deepEqual(renewed.decision, {
    kind: "renewed",
    lease: { heartbeatAt: at, leaseExpiresAt: at + TTL.ttlMs },
  });
  assert.equal(renewed.state?.active.some((slot) => isExpired(slot, at)), false);
});

Deno.test("renew(), release() and handBack() do nothing for whoever is not the owner", () => {
  const state = stateWith({ active: [1] });
  for (const given of [state, undefined]) {
    const changes = [
      renew(given, { ...OTHER, ...TTL }, T0),
      release(given, OTHER, T0),
      handBack(given, OTHER, T0),
    ];
    for (const change of changes) {
      assert.deepEqual(change, { state: given, decision: { kind: "not-owner" } });
    }
  }
});

Deno.test("release() deletes an entry that says nothing any more", () => {
  assert.equal(release(stateWith({ active: [1] }), OWNER, T0).state, undefined);
  const left = release(stateWith({ active: [1], queued: [2] }), OWNER, T0);
  assert.deepEqual(numbers(left.state), { active: [], queued: [2] });
});

Deno.test("handBack() gives a job its own place again, whoever came back before", () => {
  const state = stateWith({ active: [1, 2, 3], queued: [4] });
  const claims = [2, 3, 1].map((n) => ({ jobId: job(n), slotToken: `token-${n}` }));
  const back = claims.reduce((before, claim) => handBack(before, claim, T0).state ?? before, state);
  assert.deepEqual(numbers(back), { active: [], queued: [1, 2, 3, 4] });
});

Deno.test("withdraw() takes a waiting job out, and a slot only with the token that ended its job", () => {
  const state = stateWith({ active: [1], queued: [2] });
  assert.deepEqual(numbers(withdraw(state, { jobId: job(2) }, T0).state), {
    active: [1],
    queued: [],
  });
  assert.deepEqual(withdraw(state, { jobId: job(1) }, T0), {
    state,
    decision: { kind: "nothing" },
  });
  const ended = withdraw(state, { jobId: job(1), endedWith: "token-1" }, T0);
  assert.deepEqual(numbers(ended.state), { active: [], queued: [2] });
  const lingering = renew(state, { ...OWNER, ...TTL, lingering: true }, T0).state;
  const kept = withdraw(lingering, { jobId: job(1), endedWith: "token-1" }, T0);
  assert.equal(kept.state, lingering, "its handler goes on");
});

Deno.test("revoke() frees a key by hand once `stale` is stored for what ran", () => {
  const state = stateWith({ active: [1, 2], queued: [3] });
  const one = { slotToken: "token-1" };
  const ask = revoke(state, { ...one, fates: new Map() }, T0);
  assert.deepEqual(ask.decision, { kind: "ask", jobIds: [job(1)] });
  const runs = fates({ 1: { kind: "active", slotToken: "token-1" } });
  assert.equal(revoke(state, { ...one, fates: runs }, T0).decision.kind, "supersede");
  const stale = fates({ 1: { kind: "ended", state: "stale", slotToken: "token-1" } });
  const freed = revoke(state, { ...one, fates: stale }, T0);
  assert.deepEqual(numbers(freed.state), { active: [2], queued: [3] });
  assert.equal(freed.decision.kind === "revoked" && freed.decision.slots.length, 1);
  const nothing = revoke(undefined, { fates: new Map() }, T0);
  assert.deepEqual(nothing.decision, { kind: "revoked", slots: [] });
});
