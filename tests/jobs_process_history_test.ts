import assert from "node:assert/strict";
import { storyOfOneJob } from "../examples/_demo_story.ts";
import type { JobEvent } from "../protocol/mod.ts";
import { judgeHistory } from "./history.ts";

/** Created, started, completed: the shortest whole life. */
function shortLife(): [JobEvent, JobEvent, JobEvent] {
  const [created] = storyOfOneJob();
  if (created === undefined) throw new Error("Cannot tell a story: it has no events");
  const { jobId, service, jobType, context, timestamp } = created;
  const shared = { jobId, service, jobType, context, timestamp, tries: 1 };
  return [
    created,
    {
      ...shared,
      eventType: "started",
      state: "active",
      previousState: "pending",
      instanceId: "one",
    },
    { ...shared, eventType: "completed", state: "completed", previousState: "active", result: {} },
  ];
}

Deno.test("judgeHistory() finds nothing in legal histories", () => {
  assert.deepEqual(judgeHistory(shortLife()).problems, []);
  assert.deepEqual(judgeHistory(storyOfOneJob()).problems, []);
});

Deno.test("judgeHistory() names what is out of place", () => {
  const [created, started, completed] = shortLife();
  const elsewhere = { ...completed.context, requestId: "another" };
  const wrong: [string, JobEvent[], RegExp][] = [
    ["no creation", [started, completed], /not legal in none/],
    ["no start", [created, completed], /not legal in pending/],
    ["two ends", [created, started, completed, completed], /not legal in completed/],
    ["a lost try", [created, started, { ...completed, tries: 0 }], /0 tries instead of 1/],
    ["a try too many", [created, { ...started, tries: 2 }], /2 tries instead of 1/],
    ["another context", [created, started, { ...completed, context: elsewhere }], /context/],
    ["another past", [created, started, started], /was pending, which was active/],
  ];
  for (const [name, events, expected] of wrong) {
    assert.match(judgeHistory(events).problems[0] ?? "", expected, name);
  }
});

Deno.test("judgeHistory() excuses only overlapping tries, only where nothing is compared", () => {
  const [created, started, completed] = shortLife();
  assert.deepEqual(judgeHistory([created, started, started, completed], false).problems, []);
  assert.equal(judgeHistory([created, started, started, completed]).problems.length, 1);
  assert.equal(judgeHistory([created, started, completed, completed], false).problems.length, 1);
});
