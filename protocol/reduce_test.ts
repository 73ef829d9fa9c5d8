import assert from "node:assert/strict";
import fc from "fast-check";
import {
  arbitraryEvent,
  arbitraryEventOf,
  arbitraryHistory,
  arbitraryOrigin,
  type EventOrigin,
} from "../tests/arbitrary_events.ts";
import type { JobEvent, JobEventOf, JobEventType } from "./events.ts";
import type { Job } from "./job.ts";
import { fold, reduce } from "./reduce.ts";
import { isTerminal, JOB_STATES } from "./states.ts";
import { JOB_EVENT_TYPES, type JobOrigin, TRANSITIONS } from "./transitions.ts";

const ORIGIN: EventOrigin = {
  jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
  service: "billing",
  jobType: "charge",
  context: {
    requestId: "r-1",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  },
};
const AT = "2026-01-02T03:04:05.678Z";

/**
 * The table of the protocol, written a second time by hand: from-states without and with
 * `startedAt`, and the state after.
 */
const TABLE: Record<JobEventType, [from: string, express: string, to: string]> = {
  created: ["none", "", "pending"],
  started: ["pending retry active", "", "active"],
  retry: ["active", "pending retry", "retry"],
  progress: ["active", "", "active"],
  logged: ["active", "", "active"],
  heartbeat: ["active", "", "active"],
  completed: ["active", "pending retry", "completed"],
  failed: ["active pending retry", "", "failed"],
  cancelled: ["pending retry active", "", "cancelled"],
  expired: ["pending retry active", "", "expired"],
  skipped: ["pending retry", "", "skipped"],
  stale: ["active", "", "stale"],
  staleCompletionIgnored: ["", "", "unchanged"],
  dead: ["pending active retry", "", "dead"],
  retried: ["failed dead", "", "pending"],
  dismissed: ["dead", "", "dismissed"],
};

function sample<Type extends JobEventType>(type: Type, change: object = {}): JobEvent {
  const [event] = fc.sample(arbitraryEventOf(type, ORIGIN), { numRuns: 1, seed: 7 });
  assert.ok(event);
  const { startedAt: _, ...rest } = { startedAt: "", ...event };
  return { ...rest, ...change } as JobEventOf<Type>;
}

function jobIn(state: JobOrigin): Job | undefined {
  const created = reduce(undefined, sample("created"));
  assert.ok(created);
  return state === "none" ? undefined : { ...created, state };
}

Deno.test("TRANSITIONS is exactly the table of the protocol", () => {
  assert.deepEqual(new Set(JOB_EVENT_TYPES), new Set(Object.keys(TABLE)));
  for (const type of JOB_EVENT_TYPES) {
    if (type === "staleCompletionIgnored") continue;
    const [from, express, to] = TABLE[type];
    const row = TRANSITIONS[type];
    assert.deepEqual(new Set(row.from), new Set(from.split(" ")), type);
    assert.deepEqual(
      new Set(row.fromIfStartedAt),
      new Set(express.split(" ").filter(Boolean)),
      type,
    );
    assert.equal(row.to, to, type);
  }
});

Deno.test("reduce() does what the table says for every state and event, with and without startedAt", () => {
  let pairs = 0;
  for (const state of ["none", ...JOB_STATES] as const) {
    for (const type of JOB_EVENT_TYPES) {
      for (const startedAt of [undefined, AT]) {
        const job = jobIn(state);
        const event = sample(type, startedAt === undefined ? {} : { startedAt });
        const [from, express, to] = TABLE[type];
        const legal = from.split(" ").includes(state) ||
          (startedAt !== undefined && express.split(" ").includes(state));
        const after = reduce(job, event);
        if (legal) assert.equal(after?.state, to, `${type} from ${state}`);
        else assert.equal(after, job, `${type} from ${state} must change nothing`);
        pairs++;
      }
    }
  }
  assert.equal(pairs, 12 * 16 * 2);
});

Deno.test("reduce() ignores an event type that it does not know", () => {
  const job = jobIn("active");
  const event = { ...sample("progress"), eventType: "teleported" } as unknown as JobEvent;
  assert.equal(reduce(job, event), job);
  const inherited = { ...sample("progress"), eventType: "constructor" } as unknown as JobEvent;
  assert.equal(reduce(job, inherited), job);
});

Deno.test("reduce() ignores the event of another job", () => {
  const job = jobIn("pending");
  for (
    const change of [{ jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AC" }, { service: "x" }, { jobType: "x" }]
  ) {
    assert.equal(reduce(job, sample("started", change)), job);
  }
});

Deno.test("reduce() changes nothing when an event comes twice in a row", () => {
  fc.assert(fc.property(arbitraryHistory, (history) => {
    let job: Job | undefined;
    for (const event of history) {
      job = reduce(job, event);
      assert.deepEqual(reduce(job, event), job);
    }
  }));
});

Deno.test("reduce() leaves a terminal state only by retried and dismissed", () => {
  fc.assert(fc.property(arbitraryHistory, (history) => {
    let job: Job | undefined;
    for (const event of history) {
      const after = reduce(job, event);
      if (job !== undefined && isTerminal(job.state) && after !== job) {
        assert.ok(event.eventType === "retried" || event.eventType === "dismissed");
      }
      job = after;
    }
  }));
});

Deno.test("fold() of a prefix and then of the rest equals the fold of the whole", () => {
  fc.assert(fc.property(arbitraryHistory, fc.nat(), (history, cut) => {
    const at = cut % (history.length + 1);
    assert.deepEqual(fold(history.slice(at), fold(history.slice(0, at))), fold(history));
  }));
});

Deno.test("fold() does not care for the order of what follows a terminal state", () => {
  const late = arbitraryOrigin.chain((origin) =>
    fc.record({
      created: arbitraryEventOf("created", origin),
      end: fc.constantFrom<JobEventType>("cancelled", "expired", "skipped", "failed", "dead")
        .chain((type) => arbitraryEventOf(type, origin)),
      rest: fc.array(
        arbitraryEvent(origin).filter(({ eventType }) =>
          eventType !== "retried" && eventType !== "dismissed"
        ),
        { maxLength: 12 },
      ),
      swaps: fc.array(fc.tuple(fc.nat(), fc.nat())),
    })
  );
  fc.assert(fc.property(late, ({ created, end, rest, swaps }) => {
    const ended = fold([created, end]);
    assert.ok(ended !== undefined && isTerminal(ended.state));
    const shuffled = [...rest];
    for (const [a, b] of swaps) {
      const [i, j] = [a % (rest.length || 1), b % (rest.length || 1)];
      const [first, second] = [shuffled[i], shuffled[j]];
      if (first && second) [shuffled[i], shuffled[j]] = [second, first];
    }
    assert.equal(fold(rest, ended), ended);
    assert.equal(fold(shuffled, ended), ended);
  }));
});

Deno.test("fold() tells the story of a job that failed once and then completed", () => {
  const job = fold([
    sample("created", { timestamp: "2026-01-01T00:00:00.000Z", tries: 0, payload: { cents: 5 } }),
    sample("started", { timestamp: "2026-01-01T00:00:01.000Z", tries: 1 }),
    sample("retry", { timestamp: "2026-01-01T00:00:02.000Z", tries: 1, error: "card declined" }),
    sample("started", { timestamp: "2026-01-01T00:00:07.000Z", tries: 2, previousState: "retry" }),
    sample("completed", { timestamp: "2026-01-01T00:00:08.000Z", tries: 2, result: { id: 1 } }),
  ]);
  assert.ok(job);
  assert.equal(job.state, "completed");
  assert.equal(job.tries, 2);
  assert.equal(job.createdAt, "2026-01-01T00:00:00.000Z");
  assert.equal(job.startedAt, "2026-01-01T00:00:07.000Z");
  assert.equal(job.completedAt, "2026-01-01T00:00:08.000Z");
  assert.equal(job.lastError, "card declined");
  assert.deepEqual(job.result, { id: 1 });
});

Deno.test("reduce() lets retried begin a new life with a new deadline or none", () => {
  const dead = fold([
    sample("created", { deadline: AT }),
    sample("started"),
    sample("progress"),
    sample("logged", { logs: [{ timestamp: AT, level: "info", message: "hi" }] }),
    sample("dead", { tries: 5, error: "gone" }),
  ]);
  assert.equal(dead?.state, "dead");
  const { deadline: _, ...retried } = { deadline: "", ...sample("retried", { maxTries: 3 }) };
  const again = reduce(dead, retried as JobEvent);
  assert.ok(again);
  assert.equal(again.state, "pending");
  assert.equal(again.tries, 0);
  assert.equal(again.maxTries, 3);
  for (
    const gone of [
      "result",
      "lastError",
      "progress",
      "logs",
      "startedAt",
      "completedAt",
      "deadline",
    ]
  ) {
    assert.equal(gone in again, false, `${gone} must be cleared`);
  }
});

Deno.test("reduce() keeps a log line once when its event is stored twice", () => {
  const line = (message: string) => ({ timestamp: AT, level: "info", message });
  const job = fold([
    sample("created"),
    sample("started"),
    sample("logged", { logs: [line("a"), line("b")] }),
    sample("logged", { logs: [line("a"), line("b")] }),
    sample("logged", { logs: [line("b"), line("c")] }),
  ]);
  assert.deepEqual(job?.logs?.map(({ message }) => message), ["a", "b", "b", "c"]);
});
