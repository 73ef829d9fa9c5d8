import assert from "node:assert/strict";
import fc from "fast-check";
import {
  arbitraryEvent,
  arbitraryJson,
  arbitraryName,
  arbitraryOrigin,
} from "../tests/arbitrary_events.ts";
import {
  decodeEvent,
  decodeEventBody,
  type DecodeReason,
  encodeEvent,
  MAX_MESSAGE_BYTES,
} from "./codec.ts";
import type { JobEvent } from "./events.ts";
import { decodeHeartbeat } from "./presence.ts";
import { valueOrThrow } from "./result.ts";
import { lifecycleSubject, presenceSubject } from "./subjects.ts";

const FUZZ_RUNS = 100_000;
const anyEvent = arbitraryOrigin.chain(arbitraryEvent);
const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const subjectOf = (event: JobEvent) => lifecycleSubject(event, event.eventType);

function sampleEvent(): JobEvent {
  const [event] = fc.sample(anyEvent, { numRuns: 1, seed: 3 });
  assert.ok(event);
  return event;
}

function reasonOf(subject: string, data: Uint8Array, headers?: Map<string, string>): DecodeReason {
  const decoded = decodeEvent(subject, data, headers);
  assert.equal(decoded.ok, false);
  return decoded.error.reason;
}

Deno.test("decodeEvent() reads back what encodeEvent() wrote", () => {
  fc.assert(
    fc.property(anyEvent, (event) => {
      const data = valueOrThrow(encodeEvent(event));
      assert.deepEqual(decodeEvent(subjectOf(event), data), { ok: true, value: event });
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("decodeEvent() drops fields that it does not know", () => {
  const event = sampleEvent();
  const decoded = decodeEvent(subjectOf(event), bytes({ ...event, fromTheFuture: 1 }));
  assert.deepEqual(decoded, { ok: true, value: event });
});

Deno.test("decodeEvent() gives each kind of bad input its reason", () => {
  const event = sampleEvent();
  const subject = subjectOf(event);
  const data = bytes(event);
  assert.equal(reasonOf("trellis.jobs.nonsense", data), "subject");
  assert.equal(reasonOf(subject.replace(/\w+$/, "teleported"), data), "unknown-event");
  assert.equal(reasonOf(subject, bytes({ ...event, eventType: "teleported" })), "unknown-event");
  assert.equal(reasonOf(subject, new Uint8Array([0xff, 0xfe])), "not-json");
  assert.equal(reasonOf(subject, new Uint8Array()), "not-json");
  assert.equal(reasonOf(subject, bytes(null)), "malformed");
  assert.equal(reasonOf(subject, bytes([event])), "malformed");
  assert.equal(reasonOf(subject, bytes({ ...event, tries: -1 })), "malformed");
  assert.equal(reasonOf(subject, bytes({ ...event, timestamp: "yesterday" })), "malformed");
  assert.equal(reasonOf(subject, bytes({ ...event, state: "nowhere" })), "malformed");
  for (const timestamp of ["2026-02-30T00:00:00.000Z", "2026-01-01T24:00:00.000Z"]) {
    assert.equal(reasonOf(subject, bytes({ ...event, timestamp })), "malformed");
  }
  assert.equal(reasonOf(subject, bytes({ ...event, service: "another" })), "mismatch");
  assert.equal(reasonOf(subject, data, new Map([["Nats-Stream", "JOBS"]])), "foreign");
  assert.equal(reasonOf(subject, data, new Map([["Nats-Subject", subject]])), "foreign");
  assert.equal(reasonOf(subject, new Uint8Array(MAX_MESSAGE_BYTES + 1)), "too-large");
});

Deno.test("decodeEvent() names the field that is wrong", () => {
  const event = sampleEvent();
  const broken = { ...event, context: { ...event.context, traceId: "short" } };
  const decoded = decodeEvent(subjectOf(event), bytes(broken));
  assert.equal(decoded.ok === false && decoded.error.field, "context.traceId");
});

Deno.test("decodeEvent() refuses a line break in what becomes a header", () => {
  const event = sampleEvent();
  const context = { ...event.context, requestId: "a\r\nNats-Rollup: all" };
  assert.equal(reasonOf(subjectOf(event), bytes({ ...event, context })), "malformed");
});

Deno.test("encodeEvent() gives a value for what JSON cannot hold", () => {
  const event = sampleEvent();
  const circular: { self?: unknown } = {};
  circular.self = circular;
  const hostile = {
    toJSON() {
      throw new Error("no");
    },
  };
  for (const payload of [1n, circular, hostile]) {
    const encoded = encodeEvent({ ...event, payload } as unknown as JobEvent);
    assert.equal(encoded.ok === false && encoded.error.reason, "not-serializable");
  }
});

/** Bytes that are nothing, nearly JSON, nearly an event, or an event with one thing wrong. */
const hostileBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.string().map((text) => new TextEncoder().encode(text)),
  arbitraryJson.map(bytes),
  fc.tuple(anyEvent, fc.nat(), fc.nat({ max: 255 })).map(([event, at, byte]) => {
    const data = bytes(event);
    data[at % data.length] = byte;
    return data;
  }),
  fc.tuple(anyEvent, fc.nat()).map(([event, at]) => bytes(event).slice(0, at % 400)),
  fc.tuple(anyEvent, fc.nat(), arbitraryJson).map(([event, at, value]) => {
    const keys = Object.keys(event);
    return bytes({ ...event, [keys[at % keys.length] ?? "tries"]: value });
  }),
);

const hostileSubject: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  anyEvent.map(subjectOf),
  fc.array(arbitraryName, { maxLength: 8 }).map((tokens) =>
    ["trellis", "jobs", ...tokens].join(".")
  ),
);

Deno.test(`decodeEvent() and its kin never throw, over ${FUZZ_RUNS} hostile messages`, () => {
  const headers = fc.option(fc.constantFrom("Nats-Stream", "Nats-Subject", "x"), {
    nil: undefined,
  });
  fc.assert(
    fc.property(hostileSubject, hostileBytes, headers, (subject, data, header) => {
      const carried = header === undefined ? undefined : new Map([[header, "1"]]);
      for (
        const decoded of [
          decodeEvent(subject, data, carried),
          decodeEventBody(data, carried),
          decodeHeartbeat(subject, data, carried),
        ]
      ) {
        if (!decoded.ok) assert.ok(decoded.error.message.length > 0);
      }
    }),
    { numRuns: FUZZ_RUNS },
  );
});

Deno.test("decodeHeartbeat() refuses a body that disagrees with its subject", () => {
  const heartbeat = {
    service: "billing",
    jobType: "charge",
    instanceId: "i1",
    timestamp: "2026-01-01T00:00:00.000Z",
    stopping: true,
    counters: { rejected: { "active-limit": 3 } },
  } as const;
  const decoded = decodeHeartbeat(presenceSubject(heartbeat), bytes(heartbeat));
  assert.deepEqual(decoded, { ok: true, value: heartbeat });
  const other = presenceSubject({ ...heartbeat, instanceId: "i2" });
  const forged = decodeHeartbeat(other, bytes(heartbeat));
  assert.equal(forged.ok === false && forged.error.reason, "mismatch");
});
