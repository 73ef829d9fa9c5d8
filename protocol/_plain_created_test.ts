import assert from "node:assert/strict";
import fc from "fast-check";
import { arbitraryEventOf, arbitraryJson, arbitraryOrigin } from "../tests/arbitrary_events.ts";
import { jobEventSchema } from "./event_schemas.ts";
import type { JobCreatedEvent } from "./events.ts";
import { isPlainCreated } from "./_plain_created.ts";

const created = arbitraryOrigin.chain((origin) => arbitraryEventOf("created", origin));
const field = fc.constantFrom(
  ...["jobId", "service", "jobType", "eventType", "state", "context", "tries", "timestamp"],
  ...[
    "payload",
    "maxTries",
    "deadline",
    "concurrency",
    "queuePolicy",
    "fromTheFuture",
    "__proto__",
  ],
);
const contextField = fc.constantFrom("requestId", "traceId", "traceparent", "tracestate", "more");
const harm = fc.oneof(
  arbitraryJson,
  fc.constantFrom("created", "pending", "2026-02-30T00:00:00.000Z", "workers", "a b", "", "a\r\nb"),
  fc.constantFrom(-1, 0, 1, 1.5, 2 ** 53, Number.MAX_SAFE_INTEGER),
);

/** The event with one field taken out or put in another way, as JSON would bring it. */
const harmed = fc.tuple(created, field, contextField, harm, fc.nat({ max: 3 })).map(
  ([event, name, inner, value, how]) => {
    const { deadline: _d, concurrency: _c, queuePolicy: _q, ...plain } = event as JobCreatedEvent;
    const changed: Record<string, unknown> = { ...plain };
    if (how === 1) delete changed[name];
    if (how === 2) changed[name] = value;
    if (how === 3) changed["context"] = { ...event.context, [inner]: value };
    return JSON.parse(JSON.stringify(changed)) as object;
  },
);

Deno.test("isPlainCreated() accepts nothing that the schema refuses or changes", () => {
  let accepted = 0;
  fc.assert(
    fc.property(harmed, (json) => {
      if (!isPlainCreated(json)) return;
      accepted++;
      assert.deepEqual(jobEventSchema.parse(json), json);
    }),
    { numRuns: 20_000 },
  );
  assert.ok(accepted > 1_000, `accepted only ${accepted}`);
});

Deno.test("isPlainCreated() knows what create() writes", () => {
  const context = {
    requestId: "req-1",
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  const event = {
    jobId: "01JZ6N5V4T8Y3K2QX9W7R5M1AB",
    service: "billing",
    jobType: "charge",
    eventType: "created",
    state: "pending",
    context,
    tries: 0,
    timestamp: "2026-01-02T03:04:05.678Z",
    payload: null,
    maxTries: 5,
  };
  assert.equal(isPlainCreated(event), true);
  assert.equal(
    isPlainCreated(JSON.parse(`{"__proto__":1,${JSON.stringify(event).slice(1)}`)),
    false,
  );
  assert.equal(isPlainCreated({ ...event, deadline: "2026-01-02T03:04:05.678Z" }), false);
  assert.equal(isPlainCreated({ ...event, context: { ...context, tracestate: "a=b" } }), false);
});
