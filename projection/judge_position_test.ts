import assert from "node:assert/strict";
import { judgePosition, type StreamFacts } from "./judge_position.ts";
import type { ProjectionPosition } from "./store.ts";

const POSITION: ProjectionPosition = {
  stream: "a",
  sequence: 10,
  sequenceTime: "100",
  skipped: {},
  revision: 1,
};
const STREAM: StreamFacts = { createdAt: "a", firstSequence: 1, lastSequence: 20 };

function reason(position: Partial<ProjectionPosition>, stream: Partial<StreamFacts> = {}): string {
  const verdict = judgePosition({ ...POSITION, ...position }, { ...STREAM, ...stream });
  return verdict.kind === "rebuild" ? verdict.reason : "";
}

Deno.test("judgePosition() goes on where the stream still has what follows", () => {
  assert.equal(reason({}), "");
  assert.equal(reason({}, { timeAtPosition: "100" }), "");
  assert.equal(reason({}, { firstSequence: 11 }), "");
  assert.equal(reason({ sequence: 20 }), "");
  assert.equal(reason({ sequence: 20 }, { firstSequence: 21 }), "");
  assert.equal(reason({ sequence: 0 }, { firstSequence: 15 }), "");
});

Deno.test("judgePosition() builds anew on another stream, a shorter one, a cut one, a rewritten one", () => {
  const { stream: _, ...unborn } = POSITION;
  assert.equal(judgePosition(unborn, STREAM).kind, "rebuild");
  assert.match(reason({}, { createdAt: "b" }), /a stream created at a, this one is of b/);
  assert.match(reason({}, { lastSequence: 9 }), /at place 10, and the stream ends at 9/);
  assert.match(reason({}, { firstSequence: 12 }), /at place 10, and the stream now begins at 12/);
  assert.match(reason({}, { timeAtPosition: "101" }), /place 10 is another one/);
});
