/** Generators of names, jobs and events for property tests: every event type, every optional field. */

import fc from "fast-check";
import { JOB_EVENT_TYPES, JOB_STATES, type JobEvent, type JobEventType } from "../protocol/mod.ts";

const TOKEN_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const ULID_CHARACTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const from = (characters: string) => fc.constantFrom(...characters);

/** A legal service, job type or instance name. */
export const arbitraryName: fc.Arbitrary<string> = fc.string({
  unit: from(TOKEN_CHARACTERS),
  minLength: 1,
  maxLength: 64,
}).filter((name) => name !== "workers");

/** A job id. */
export const arbitraryJobId: fc.Arbitrary<string> = fc.tuple(
  from("01234567"),
  fc.string({ unit: from(ULID_CHARACTERS), minLength: 25, maxLength: 25 }),
).map(([first, rest]) => first + rest);

/** An instant as the wire has it. */
export const arbitraryInstant: fc.Arbitrary<string> = fc.date({
  min: new Date("2000-01-01T00:00:00.000Z"),
  max: new Date("2099-12-31T23:59:59.999Z"),
  noInvalidDate: true,
}).map((date) => date.toISOString());

const hex = (length: number) =>
  fc.string({ unit: from("0123456789abcdef"), minLength: length, maxLength: length });

/** Any JSON value. */
export const arbitraryJson: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 3 });

const context = fc.record({
  requestId: fc.string({ unit: from(TOKEN_CHARACTERS), minLength: 1, maxLength: 40 }),
  traceId: hex(32),
  span: hex(16),
}).map(({ requestId, traceId, span }) => ({
  requestId,
  traceId,
  traceparent: `00-${traceId}-${span}-01`,
}));

const concurrency = fc.record({
  key: fc.string(),
  keyHash: hex(64),
  slotToken: fc.string(),
  instanceId: arbitraryName,
  heartbeatAt: arbitraryInstant,
  leaseExpiresAt: arbitraryInstant,
  staleTakeoverCount: fc.nat(),
}, { requiredKeys: ["key", "keyHash"] });

const tries = fc.nat({ max: 9 });
const progress = fc.record(
  { step: fc.string(), message: fc.string(), current: fc.nat(), total: fc.nat() },
  { requiredKeys: [] },
);
const logs = fc.array(
  fc.record({
    timestamp: arbitraryInstant,
    level: fc.constantFrom("info", "warn", "error"),
    message: fc.string(),
  }),
  { maxLength: 3 },
);

/** What each event carries beside the fields that all carry; the optional ones come and go. */
const FIELDS: Record<JobEventType, fc.Arbitrary<object>> = {
  created: fc.record({
    payload: arbitraryJson,
    maxTries: fc.integer({ min: 1, max: 9 }),
    deadline: arbitraryInstant,
    concurrency,
    queuePolicy: fc.record({ outcome: fc.constant("replaced"), replacedJobId: arbitraryJobId }),
  }, { requiredKeys: ["payload", "maxTries"] }),
  started: fc.record({ instanceId: arbitraryName, concurrency }, { requiredKeys: ["instanceId"] }),
  retry: fc.record({
    error: fc.string(),
    reason: fc.constantFrom("error", "shutdown", "snooze", "timeout"),
    startedAt: arbitraryInstant,
  }, { requiredKeys: ["error"] }),
  progress: fc.record({ progress }),
  logged: fc.record({ logs }),
  heartbeat: fc.record({ concurrency }, { requiredKeys: [] }),
  completed: fc.record(
    { result: arbitraryJson, startedAt: arbitraryInstant, concurrency },
    { requiredKeys: [] },
  ),
  failed: ending(),
  dead: ending(),
  cancelled: outside(),
  expired: outside(),
  dismissed: outside(),
  skipped: fc.record({ error: fc.string(), concurrency }),
  stale: fc.record({ error: fc.string(), concurrency, actor: fc.string() }, {
    requiredKeys: ["error", "concurrency"],
  }),
  staleCompletionIgnored: fc.record({ error: fc.string(), concurrency }),
  retried: fc.record({
    payload: arbitraryJson,
    maxTries: fc.integer({ min: 1, max: 9 }),
    deadline: arbitraryInstant,
    actor: fc.string(),
  }, { requiredKeys: ["payload", "maxTries"] }),
};

const STATE_AFTER: Record<JobEventType, string> = {
  created: "pending",
  started: "active",
  retry: "retry",
  progress: "active",
  logged: "active",
  heartbeat: "active",
  completed: "completed",
  failed: "failed",
  dead: "dead",
  cancelled: "cancelled",
  expired: "expired",
  dismissed: "dismissed",
  skipped: "skipped",
  stale: "stale",
  staleCompletionIgnored: "active",
  retried: "pending",
};

/** A job's identity and context: what all of its events share. */
export interface EventOrigin {
  readonly jobId: string;
  readonly service: string;
  readonly jobType: string;
  readonly context: JobEvent["context"];
}

/** Any job's identity and context. */
export const arbitraryOrigin: fc.Arbitrary<EventOrigin> = fc.record({
  jobId: arbitraryJobId,
  service: arbitraryName,
  jobType: arbitraryName,
  context,
});

/** Any event of one type about one job. */
export function arbitraryEventOf(
  eventType: JobEventType,
  origin: EventOrigin,
): fc.Arbitrary<JobEvent> {
  const shared = fc.record({ tries, timestamp: arbitraryInstant, fields: FIELDS[eventType] });
  return fc.tuple(shared, fc.constantFrom(...JOB_STATES)).map(([event, previousState]) => {
    const { fields, ...rest } = event;
    const before = eventType === "created" ? {} : { previousState };
    const state = STATE_AFTER[eventType];
    // Through JSON, as on the wire: plain objects, no -0. The pieces fit by construction, and the
    // round-trip test of decodeEvent() checks that.
    return JSON.parse(
      JSON.stringify({ ...origin, eventType, state, ...rest, ...before, ...fields }),
    );
  });
}

/** Any event about one job. */
export function arbitraryEvent(origin: EventOrigin): fc.Arbitrary<JobEvent> {
  return fc.constantFrom(...JOB_EVENT_TYPES).chain((type) => arbitraryEventOf(type, origin));
}

/** A history of one job: `created`, then anything at all. */
export const arbitraryHistory: fc.Arbitrary<JobEvent[]> = arbitraryOrigin.chain((origin) =>
  fc.tuple(
    arbitraryEventOf("created", origin),
    fc.array(arbitraryEvent(origin), { maxLength: 25 }),
  ).map(([created, rest]) => [created, ...rest])
);

function ending(): fc.Arbitrary<object> {
  return fc.record({ error: fc.string(), startedAt: arbitraryInstant, concurrency }, {
    requiredKeys: ["error"],
  });
}

function outside(): fc.Arbitrary<object> {
  return fc.record(
    { error: fc.string(), reason: fc.string(), actor: fc.string(), concurrency },
    { requiredKeys: [] },
  );
}
