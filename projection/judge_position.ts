/**
 * Whether a projection may go on where it stands, or must be built anew.
 *
 * @module
 */

import type { ProjectionPosition } from "./store.ts";

/** What is known of the stream. */
export interface StreamFacts {
  /** When it was created. */
  readonly createdAt: string;
  /** Place of its oldest message; one more than the last when it is empty. */
  readonly firstSequence: number;
  /** The last place that was given out. */
  readonly lastSequence: number;
  /** When the message at the projection's place was stored; left out when it is gone. */
  readonly timeAtPosition?: string;
}

/** What to do with the projection. */
export type PositionVerdict =
  /** Go on after its place. */
  | { readonly kind: "resume" }
  /** Empty it and begin at the stream's beginning. */
  | { readonly kind: "rebuild"; readonly reason: string };

/**
 * Compares a projection with the stream it is to be fed from.
 *
 * @example
 * ```ts
 * import { judgePosition } from "./judge_position.ts";
 * import assert from "node:assert/strict";
 *
 * const position = { stream: "2026-01-01T00:00:00Z", sequence: 9, skipped: {}, revision: 4 };
 * const stream = { createdAt: "2026-01-01T00:00:00Z", firstSequence: 1, lastSequence: 12 };
 * assert.deepEqual(judgePosition(position, stream), { kind: "resume" });
 * assert.equal(judgePosition(position, { ...stream, firstSequence: 11 }).kind, "rebuild");
 * ```
 */
export function judgePosition(
  { stream, sequence, sequenceTime }: ProjectionPosition,
  facts: StreamFacts,
): PositionVerdict {
  if (stream === undefined) return rebuild("the projection is empty");
  if (stream !== facts.createdAt) {
    return rebuild(
      `it was made from a stream created at ${stream}, this one is of ${facts.createdAt}`,
    );
  }
  if (sequence > facts.lastSequence) {
    return rebuild(`it is at place ${sequence}, and the stream ends at ${facts.lastSequence}`);
  }
  if (sequence > 0 && sequence + 1 < facts.firstSequence) {
    return rebuild(
      `it is at place ${sequence}, and the stream now begins at ${facts.firstSequence}`,
    );
  }
  const { timeAtPosition } = facts;
  if (
    timeAtPosition !== undefined && sequenceTime !== undefined && timeAtPosition !== sequenceTime
  ) {
    return rebuild(
      `the message at place ${sequence} is another one: stored at ${timeAtPosition}, not at ${sequenceTime}`,
    );
  }
  return { kind: "resume" };
}

function rebuild(reason: string): PositionVerdict {
  return { kind: "rebuild", reason };
}
