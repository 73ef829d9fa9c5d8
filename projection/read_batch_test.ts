import assert from "node:assert/strict";
import { readBatch, type ReadMessage, readMessage } from "./read_batch.ts";

const EMPTY = { sequence: 0, skipped: {}, revision: 0 };

function message(sequence: number, second: number, pending = 1): ReadMessage {
  const subject = "trellis.jobs.billing.charge.01JZ6N5V4T8Y3K2QX9W7R5M1AB.created";
  const storedNs = `${1_767_225_600 + second}123456789`;
  return readMessage({
    sequence,
    storedNs,
    pending,
    subject,
    data: new TextEncoder().encode("nonsense"),
    headers: undefined,
  });
}

Deno.test("readBatch() counts what is no event and stands after it", () => {
  const { events, skipped, position } = readBatch(EMPTY, [message(7, 0), message(8, 1)]);
  assert.deepEqual([events, skipped], [[], { "not-json": 2 }]);
  assert.deepEqual(position, {
    sequence: 8,
    sequenceTime: "1767225601123456789",
    storedAt: "2026-01-01T00:00:01.123Z",
  });
});

Deno.test("readBatch() never lets the time of storing go back", () => {
  const { position } = readBatch(EMPTY, [message(1, 9), message(2, 3)]);
  assert.equal(position.storedAt, "2026-01-01T00:00:09.123Z");
  const after = readBatch({ ...EMPTY, ...position }, [message(3, 4)]);
  assert.equal(after.position.storedAt, "2026-01-01T00:00:09.123Z");
});

Deno.test("readBatch() notes messages that were deleted unseen, but not before the first", () => {
  assert.equal(readBatch(EMPTY, [message(5, 0)]).position.holesAt, undefined);
  assert.equal(readBatch(EMPTY, [message(5, 0), message(7, 0)]).position.holesAt, 7);
  const at5 = { ...EMPTY, sequence: 5 };
  assert.equal(readBatch(at5, [message(6, 0)]).position.holesAt, undefined);
  assert.equal(readBatch(at5, [message(7, 0)]).position.holesAt, 7);
  assert.equal(readBatch({ ...at5, holesAt: 3 }, [message(6, 0)]).position.holesAt, 3);
});

Deno.test("readBatch() ends a rebuild at its place, or when nothing is left to read", () => {
  const rebuilding = { ...EMPTY, rebuildTo: 9 };
  assert.equal(readBatch(rebuilding, [message(8, 0)]).position.rebuildTo, 9);
  assert.equal(readBatch(rebuilding, [message(9, 0)]).position.rebuildTo, undefined);
  assert.equal(readBatch(rebuilding, [message(8, 0, 0)]).position.rebuildTo, undefined);
});
