/**
 * The correlation of a job: made once, at creation, and the same on all of its events.
 *
 * @module
 */

import { isSpanContextValid, type SpanContext, trace } from "@opentelemetry/api";
import type { JobContext } from "../protocol/mod.ts";
import { randomHex } from "./_random.ts";

/**
 * Makes a job's context from the active span, or a fresh one when there is none: no job is without
 * a trace.
 */
export function createJobContext(requestId?: string): JobContext {
  const span = trace.getActiveSpan()?.spanContext();
  const traced = span !== undefined && isSpanContextValid(span) ? inherited(span) : fresh();
  return { requestId: requestId ?? `req-${randomHex(8)}`, ...traced };
}

/** The headers that carry a job's context, beside the same values in its events. */
export function contextHeaders(context: JobContext): readonly (readonly [string, string])[] {
  const headers: [string, string][] = [
    ["request-id", context.requestId],
    ["traceparent", context.traceparent],
  ];
  if (context.tracestate !== undefined) headers.push(["tracestate", context.tracestate]);
  return headers;
}

function inherited(span: SpanContext): Omit<JobContext, "requestId"> {
  const { traceId, spanId, traceFlags, traceState } = span;
  const flags = traceFlags.toString(16).padStart(2, "0");
  const tracestate = traceState?.serialize();
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${flags}`,
    ...(tracestate && { tracestate }),
  };
}

function fresh(): Omit<JobContext, "requestId"> {
  const traceId = randomHex(16);
  return { traceId, traceparent: `00-${traceId}-${randomHex(8)}-01` };
}
