/**
 * The event that every worker reads first, in its plainest form, recognised without the schema.
 *
 * The schema's verdict costs a tenth of what a small job costs in all. This knows only what it
 * can be sure of; for everything else the schema decides.
 */

import { isInstant } from "./_fields.ts";
import type { JobCreatedEvent } from "./events.ts";
import { isHeaderText, isJobId, nameProblem } from "./names.ts";

const FIELDS = 10;
const CONTEXT_FIELDS = 3;
const TRACE_ID = /^[0-9a-f]{32}$/;
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Tells whether this is a `created` event with the fields that each has, all sound, and no other. */
export function isPlainCreated(json: object): json is JobCreatedEvent {
  const event: { readonly [Field in keyof JobCreatedEvent]?: unknown } = json;
  return event.eventType === "created" && event.state === "pending" &&
    isText(event.jobId) && isJobId(event.jobId) &&
    isText(event.service) && nameProblem("service", event.service) === undefined &&
    isText(event.jobType) && nameProblem("job type", event.jobType) === undefined &&
    isPlainContext(event.context) &&
    Number.isSafeInteger(event.tries) && Number(event.tries) >= 0 &&
    Number.isSafeInteger(event.maxTries) && Number(event.maxTries) > 0 &&
    isText(event.timestamp) && isInstant(event.timestamp) &&
    event.payload !== undefined && countFields(event) === FIELDS;
}

function isPlainContext(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const context: { readonly [Field in keyof JobCreatedEvent["context"]]?: unknown } = value;
  return isText(context.requestId) && isHeaderText(context.requestId) &&
    isText(context.traceId) && TRACE_ID.test(context.traceId) &&
    isText(context.traceparent) && TRACEPARENT.test(context.traceparent) &&
    countFields(context) === CONTEXT_FIELDS;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function countFields(value: object): number {
  let count = 0;
  for (const _ in value) count++;
  return count;
}
