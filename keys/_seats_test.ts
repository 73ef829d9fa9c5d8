import assert from "node:assert/strict";
import { createSeats } from "./_seats.ts";

const NEVER = new AbortController().signal;

Deno.test("wake() wakes the first in order, and whoever comes to the front after them", async () => {
  const seats = createSeats(2);
  const woken: string[] = [];
  const take = (order: string) => {
    const seat = seats.take("key", order);
    const waited = seat.wait(60_000, NEVER).then((heard) => {
      assert.ok(heard, "not by the clock");
      woken.push(order);
      seat.leave();
    });
    return waited;
  };
  const waits = ["c", "a", "d", "b"].map(take);
  assert.deepEqual(seats.taken(), new Map([["key", 4]]));
  seats.wake("key");
  await Promise.all(waits);
  assert.deepEqual(woken.slice(0, 2).sort(), ["a", "b"]);
  assert.deepEqual(woken.slice(2).sort(), ["c", "d"], "each was promoted by one who left");
  assert.equal(seats.taken().size, 0);
});

Deno.test("wait() behind the front has no clock, and can be called away", async () => {
  const seats = createSeats(1);
  const [first, second] = [seats.take("key", "a"), seats.take("key", "b")];
  assert.equal(await first.wait(1, NEVER), false, "the first looks by the clock");
  const away = new AbortController();
  const waited = second.wait(1, away.signal);
  await first.wait(5, NEVER);
  away.abort();
  assert.equal(await waited, false);
});
