import assert from "node:assert/strict";
import fc from "fast-check";
import { arbitraryHistory } from "../tests/arbitrary_events.ts";
import type { JobEvent, JobEventType } from "./events.ts";
import { foldLatest, type SequencedEvent } from "./fold_latest.ts";
import { reduce } from "./reduce.ts";

/** A history in which each event was legal when it was stored, as compare-and-set makes it. */
function legalOnly(history: readonly JobEvent[]): SequencedEvent[] {
  const legal: SequencedEvent[] = [];
  let job: ReturnType<typeof reduce>;
  for (const [index, event] of history.entries()) {
    const after = reduce(job, event);
    if (after === job) continue;
    job = after;
    legal.push({ sequence: 10 + index * 3, event });
  }
  return legal;
}

function latestOfEachKind(events: readonly SequencedEvent[]): SequencedEvent[] {
  return [
    ...new Map<JobEventType, SequencedEvent>(events.map((e) => [e.event.eventType, e])).values(),
  ];
}

Deno.test("foldLatest() agrees with the whole fold on what matters to a worker", () => {
  fc.assert(
    fc.property(arbitraryHistory, (history) => {
      const legal = legalOnly(history);
      let whole: ReturnType<typeof reduce>;
      for (const { event } of legal) whole = reduce(whole, event);
      const latest = foldLatest(latestOfEachKind(legal));
      assert.ok(whole && latest);
      assert.equal(latest.job.state, whole.state);
      assert.equal(latest.job.tries, whole.tries);
      assert.equal(latest.job.maxTries, whole.maxTries);
      assert.equal(latest.job.deadline, whole.deadline);
      assert.deepEqual(latest.job.payload, whole.payload);
      assert.deepEqual(latest.job.result, whole.result);
      assert.equal(latest.job.completedAt, whole.completedAt);
      assert.equal(latest.lastSequence, legal.at(-1)?.sequence);
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("foldLatest() without a created event is no job", () => {
  fc.assert(fc.property(arbitraryHistory, ([, ...rest]) => {
    const events = rest.filter(({ eventType }) => eventType !== "created")
      .map((event, index) => ({ sequence: index + 1, event }));
    assert.equal(foldLatest(latestOfEachKind(events)), undefined);
  }));
});
