/**
 * The correlation of a job: made once, at creation, and the same on all of its events.
 *
 * @module
 */

import { isSpanContextValid, type SpanContext, trace } from "@opentelemetry/api";
import { isHeaderText, type JobContext } from "../protocol/mod.ts";
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

/** The header lines that carry a job's context, beside the same values in its events. */
export function contextHeaders({ requestId, traceparent, tracestate }: JobContext): string {
  const lines = `request-id: ${requestId}\r\ntraceparent: ${traceparent}\r\n`;
  return tracestate === undefined ? lines : `${lines}tracestate: ${tracestate}\r\n`;
}

function inherited(span: SpanContext): Omit<JobContext, "requestId"> {
  const traceId = span.traceId.toLowerCase();
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, "0");
  const tracestate = span.traceState?.serialize() ?? "";
  return {
    traceId,
    traceparent: `00-${traceId}-${span.spanId.toLowerCase()}-${flags}`,
    // A state that no event may carry is left behind: better an untold vendor than a lost job.
    ...(isHeaderText(tracestate) && { tracestate }),
  };
}

function fresh(): Omit<JobContext, "requestId"> {
  const traceId = randomHex(16);
  return { traceId, traceparent: `00-${traceId}-${randomHex(8)}-01` };
}
