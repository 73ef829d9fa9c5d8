import assert from "node:assert/strict";
import fc from "fast-check";
import { KEY, stateWith, T0 } from "../tests/keys_fixtures.ts";
import { handBack, renew } from "./hold.ts";
import { decodeKeyState, encodeKeyState } from "./key_entry.ts";

const encoder = new TextEncoder();
const full = () => {
  const state = stateWith({ active: [1, 2], queued: [3], policy: { maxActive: 2 } });
  const [first, second] = state.active;
  assert.ok(first && second);
  const back = handBack(state, { ...first, notBefore: T0 + 9 }, T0 + 1).state;
  return renew(back, { ...second, ttlMs: 5_000, lingering: true }, T0 + 2).state;
};

Deno.test("a key's state survives the bucket", () => {
  const state = full();
  assert.ok(state);
  assert.deepEqual(decodeKeyState(encodeKeyState(state, T0), KEY), { ok: true, value: state });
});

Deno.test("decodeKeyState() reads the entry as the specification has it, without places", () => {
  const wire = JSON.parse(
    new TextDecoder().decode(encodeKeyState(stateWith({ active: [1], queued: [2, 3] }), T0)),
  );
  for (const job of [...wire.active, ...wire.queued]) delete job.place;
  for (const slot of wire.active) {
    delete slot.createdAt;
    delete slot.requestId;
  }
  delete wire.maxQueuedPerKey;
  const read = decodeKeyState(encoder.encode(JSON.stringify(wire)), KEY);
  assert.ok(read.ok);
  assert.deepEqual([...read.value.active, ...read.value.queued].map(({ place }) => place), [
    1,
    2,
    3,
  ]);
});

Deno.test("decodeKeyState() never takes what it cannot read for an empty key", () => {
  const state = full();
  assert.ok(state);
  const data = encodeKeyState(state, T0);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
    assert.equal(decodeKeyState(bytes, KEY).ok, false);
  }));
  fc.assert(fc.property(fc.nat(data.length - 1), (at) => {
    assert.equal(decodeKeyState(data.slice(0, at), KEY).ok, false);
  }));
  const elsewhere = decodeKeyState(data, { ...KEY, service: "shop" });
  assert.equal(
    elsewhere.ok === false && elsewhere.error,
    `it is about the key ${KEY.keyHash} of billing charge`,
  );
  const odd = decodeKeyState(encoder.encode(`{"version":2}`), KEY);
  assert.match(odd.ok ? "" : odd.error, /^version: /);
});
