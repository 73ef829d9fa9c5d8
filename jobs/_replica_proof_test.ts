import assert from "node:assert/strict";
import fc from "fast-check";
import {
  isTerminal,
  type JobEvent,
  type JobEventType,
  reduce,
  type SequencedEvent,
} from "../protocol/mod.ts";
import { arbitraryHistory } from "../tests/arbitrary_events.ts";
import { foldProven, newestOfEach } from "./_replica_proof.ts";

/** What compare-and-set lets through, and what is written without it. */
function storable(history: readonly JobEvent[]): SequencedEvent[] {
  const stored: SequencedEvent[] = [];
  let job: ReturnType<typeof reduce>;
  for (const [index, event] of history.entries()) {
    const after = reduce(job, event);
    const unguarded = event.eventType === "progress" || event.eventType === "logged";
    // A worker reports while it runs, or a moment after somebody else has ended the job.
    const reported = job !== undefined && (job.state === "active" || isTerminal(job.state));
    if (unguarded ? !reported : after === job) continue;
    job = after;
    stored.push({ sequence: 1 + index, event });
  }
  return stored;
}

/** What replicas of these ages answer: each kind as its replica knew it. */
function readFrom(stored: readonly SequencedEvent[], ages: readonly number[]): SequencedEvent[] {
  const kinds = new Set<JobEventType>(stored.map(({ event }) => event.eventType));
  return [...kinds].flatMap((kind, index) => {
    const known = stored.slice(0, Math.max(1, stored.length - (ages[index % ages.length] ?? 0)));
    return known.findLast(({ event }) => event.eventType === kind) ?? [];
  });
}

const arbitraryAges = fc.array(fc.nat({ max: 6 }), { minLength: 1, maxLength: 12 });

Deno.test("foldProven() is never sure of a state that the job is not in", () => {
  let sure = 0;
  fc.assert(
    fc.property(arbitraryHistory, arbitraryAges, (history, ages) => {
      const stored = storable(history);
      let whole: ReturnType<typeof reduce>;
      for (const { event } of stored) whole = reduce(whole, event);
      const { snapshot, proven } = foldProven(stored.at(-1), readFrom(stored, ages));
      if (!proven) return;
      sure++;
      assert.equal(snapshot?.job.state, whole?.state);
      assert.equal(snapshot?.job.tries, whole?.tries);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(sure > 500, `sure only ${sure} times`);
});

Deno.test("foldProven() is sure of what up-to-date replicas say, unless the newest event is unguarded", () => {
  fc.assert(
    fc.property(arbitraryHistory, (history) => {
      const stored = storable(history);
      const last = stored.at(-1);
      const { proven } = foldProven(last, readFrom(stored, [0]));
      const unguarded = last?.event.eventType === "progress" || last?.event.eventType === "logged";
      assert.equal(proven, last !== undefined && !unguarded);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("newestOfEach() keeps the newer of two readings, in whatever order they came", () => {
  fc.assert(
    fc.property(arbitraryHistory, arbitraryAges, arbitraryAges, (history, one, other) => {
      const stored = storable(history);
      const [a, b] = [readFrom(stored, one), readFrom(stored, other)];
      const bySequence = (events: SequencedEvent[]) =>
        events.map(({ sequence }) => sequence).sort();
      assert.deepEqual(
        bySequence(newestOfEach([...a, ...b])),
        bySequence(newestOfEach([...b, ...a])),
      );
    }),
  );
});
