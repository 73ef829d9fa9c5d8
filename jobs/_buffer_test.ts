import assert from "node:assert/strict";
import type { Message } from "../nats/mod.ts";
import { createBuffer } from "./_buffer.ts";

const message = (subject: string): Message => ({ subject, data: new Uint8Array() });

Deno.test("createBuffer() gives work in the order in which it came", () => {
  const buffer = createBuffer(1_000, () => 0);
  const [one, two] = [message("one"), message("two")];
  buffer.push(one);
  buffer.push(two);
  assert.equal(buffer.first(), one);
  assert.equal(buffer.shift(), one);
  assert.deepEqual(buffer.takeAll(), [two]);
  assert.equal(buffer.shift(), undefined);
});

Deno.test("createBuffer() drops work that nobody kept alive in time", () => {
  let now = 0;
  const buffer = createBuffer(1_000, () => now);
  buffer.push(message("old"));
  now = 600;
  assert.equal(buffer.keepAlive().length, 1);
  now = 1_200;
  const fresh = message("fresh");
  buffer.push(fresh);
  assert.equal(buffer.size, 2);
  // The process slept past the deadline of the first, and not of the second.
  now = 1_600;
  assert.equal(buffer.shift(), fresh);

  buffer.push(message("lapsed"));
  now = 9_000;
  assert.deepEqual(buffer.keepAlive(), []);
  assert.equal(buffer.size, 0);
});
