import assert from "node:assert/strict";
import { createWaitingRoom, type Waiter } from "./_waiting_room.ts";

interface TestWaiter extends Waiter {
  readonly away: number[];
}

function waiter(key: string, deliveries = 1, near = false): TestWaiter {
  const away: number[] = [];
  return {
    away,
    keyHash: () => key,
    deliveries: () => deliveries,
    mayGoBack: () => away.length === 0 && !near,
    callAway: (delayMs) => void away.push(delayMs),
  };
}

const NEVER = new AbortController().signal;

Deno.test("serve() thins a full room by the youngest of the deepest key, with growing delays", () => {
  let free = true;
  const room = createWaitingRoom({
    most: 10,
    handIsFree: () => free,
    onHandFree: () => {},
    random: () => 0.5,
  });
  const cold = [waiter("cold-1"), waiter("cold-2")];
  const hot = [1, 1, 1, 1, 1, 1, 3, 20].map((deliveries) => waiter("hot", deliveries));
  for (const one of [...cold, ...hot]) room.enter(one);
  assert.ok(room.isFull());
  assert.equal(room.serve(), false);
  assert.deepEqual(hot.map(({ away }) => away), [[], [], [], [], [], [], [4_000], [30_000]]);
  assert.deepEqual(cold.map(({ away }) => away.length), [0, 0]);
  free = false;
  for (const one of hot.slice(-2)) room.leave(one);
  assert.ok(!room.isFull());
});

Deno.test("serve() gives nobody back whose next delivery could be the last", () => {
  const options = { handIsFree: () => true, onHandFree: () => {}, random: () => 0.5 };
  const room = createWaitingRoom({ ...options, most: 2 });
  const near = [waiter("hot", 990, true), waiter("hot", 990, true)];
  for (const one of near) room.enter(one);
  room.serve();
  assert.deepEqual(near.map(({ away }) => away), [[], []]);
});

Deno.test("hand() is given in the order in which it was wanted, and close() calls everybody away", async () => {
  let free = false;
  const options = { handIsFree: () => free, onHandFree: () => {}, random: () => 0.5 };
  const room = createWaitingRoom({ ...options, most: 10 });
  const [first, second, third] = [waiter("a"), waiter("b"), waiter("c")];
  for (const one of [first, second, third]) room.enter(one);
  const order: string[] = [];
  const wanted = [second, first].map((one) =>
    room.hand(one, NEVER)?.then(() => order.push(one.keyHash() ?? ""))
  );
  assert.ok(room.serve());
  assert.ok(room.serve());
  assert.equal(room.serve(), false);
  await Promise.all(wanted);
  assert.deepEqual(order, ["b", "a"]);
  assert.equal(room.size(), 1);
  free = true;
  assert.equal(room.hand(third, NEVER), undefined, "at once");
  assert.equal(room.size(), 0);
  room.enter(third);
  room.close();
  room.enter(first);
  assert.deepEqual([third.away, first.away], [[0], [0]]);
});
