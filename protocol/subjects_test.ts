import assert from "node:assert/strict";
import fc from "fast-check";
import { arbitraryJobId, arbitraryName } from "../tests/arbitrary_events.ts";
import * as subjects from "./subjects.ts";
import { JOB_EVENT_TYPES } from "./transitions.ts";

const address = { service: arbitraryName, jobType: arbitraryName, jobId: arbitraryJobId };

/** NATS's own rule of matching, to check filters against subjects. */
function matches(filter: string, subject: string): boolean {
  const [wanted, tokens] = [filter.split("."), subject.split(".")];
  const tail = wanted.at(-1) === ">";
  if (tail ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, index) => token === ">" || token === "*" || token === tokens[index]);
}

Deno.test("parseLifecycleSubject() reads back what lifecycleSubject() built", () => {
  const event = fc.constantFrom(...JOB_EVENT_TYPES);
  fc.assert(fc.property(fc.record(address), event, (job, eventType) => {
    const subject = subjects.lifecycleSubject(job, eventType);
    assert.deepEqual(subjects.parseLifecycleSubject(subject), {
      ok: true,
      value: { ...job, eventType },
    });
    const filters = [
      subjects.LIFECYCLE_FILTER,
      subjects.jobFilter(job),
      subjects.eventFilter(eventType),
      subjects.queueEventFilter(job, eventType),
      subjects.serviceFilter(job.service),
    ];
    for (const filter of filters) assert.ok(matches(filter, subject), filter);
    assert.equal(matches(subjects.PRESENCE_FILTER, subject), false);
  }));
});

Deno.test("parsePresenceSubject() reads back what presenceSubject() built", () => {
  const worker = { service: arbitraryName, jobType: arbitraryName, instanceId: arbitraryName };
  fc.assert(fc.property(fc.record(worker), (value) => {
    const subject = subjects.presenceSubject(value);
    assert.deepEqual(subjects.parsePresenceSubject(subject), { ok: true, value: { ...value } });
    assert.ok(matches(subjects.PRESENCE_FILTER, subject));
    assert.ok(matches(subjects.servicePresenceFilter(value.service), subject));
    assert.equal(matches(subjects.LIFECYCLE_FILTER, subject), false);
    assert.equal(subjects.parseLifecycleSubject(subject).ok, false);
  }));
});

Deno.test("parseWorkSubject() reads back what workSubject() built", () => {
  const queue = { service: arbitraryName, jobType: arbitraryName };
  fc.assert(fc.property(fc.record(queue), (value) => {
    const subject = subjects.workSubject(value);
    assert.deepEqual(subjects.parseWorkSubject(subject), { ok: true, value: { ...value } });
    assert.ok(matches(subjects.serviceWorkFilter(value.service), subject));
    assert.ok(matches(subjects.WORK_FILTER, subject));
  }));
});

Deno.test("parseKeyStateKey() reads back what keyStateKey() built", () => {
  const queue = fc.record({ service: arbitraryName, jobType: arbitraryName });
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) =>
    [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")
  );
  fc.assert(fc.property(queue, hash, (value, keyHash) => {
    const key = subjects.keyStateKey(value, keyHash);
    assert.deepEqual(subjects.parseKeyStateKey(key), { ok: true, value: { ...value, keyHash } });
  }));
});

Deno.test("parsers answer any text with a value and never throw", () => {
  const pieces = fc.array(
    fc.oneof(fc.string(), fc.constantFrom("trellis", "jobs", "work", "workers", "*", ">", "")),
  ).map((tokens) => tokens.join("."));
  fc.assert(
    fc.property(fc.oneof(fc.string(), pieces), (text) => {
      subjects.parseLifecycleSubject(text);
      subjects.parsePresenceSubject(text);
      subjects.parseWorkSubject(text);
      subjects.parseKeyStateKey(text);
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("parseLifecycleSubject() refuses the reserved service, wildcards and lower-case ids", () => {
  const id = "01JZ6N5V4T8Y3K2QX9W7R5M1AB";
  for (
    const subject of [
      `trellis.jobs.workers.charge.${id}.created`,
      `trellis.jobs.billing.*.${id}.created`,
      `trellis.jobs.billing.charge.${id.toLowerCase()}.created`,
      `trellis.jobs.billing.charge.${id}`,
      `trellis.jobs.billing.charge.${id}.created.extra`,
      `trellis.work.billing.charge.${id}.created`,
    ]
  ) {
    assert.equal(subjects.parseLifecycleSubject(subject).ok, false, subject);
  }
});
