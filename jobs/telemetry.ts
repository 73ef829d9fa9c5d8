/**
 * Spans and metrics through the OpenTelemetry API: nothing to switch on, and next to nothing to pay
 * while no SDK is registered.
 *
 * @module
 */

import {
  type Attributes,
  context,
  createNoopMeter,
  metrics,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import type { QueueAddress } from "../protocol/mod.ts";
import type { ActiveJob } from "./active_job.ts";
import { describeThrown, isErr } from "./perform.ts";

const SCOPE = "@trellis/jobs";

/** Tells whether anybody records spans; without an SDK the wrapping is left out altogether. */
function activeTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return provider.getTracer(SCOPE);
  return provider.getDelegateTracer(SCOPE);
}

/** Runs a create inside a producer span, from which the job inherits its trace. */
export async function inCreateSpan<Value extends { readonly ok: boolean }>(
  queue: QueueAddress,
  create: () => Promise<Value>,
): Promise<Value> {
  const tracer = activeTracer();
  const created = tracer === undefined ? await create() : await tracer.startActiveSpan(
    `create ${queue.jobType}`,
    { kind: SpanKind.PRODUCER, attributes: attributesOf(queue, "create") },
    (span) => endWith(span, create(), (value) => value.ok),
  );
  instruments()?.created.add(1, { ...labelsOf(queue), outcome: created.ok ? "stored" : "failed" });
  return created;
}

/**
 * Runs a handler inside a consumer span whose parent is the job's own trace context, and measures
 * how long it took and how it ended.
 */
export function inProcessSpan(
  job: ActiveJob<unknown>,
  queue: QueueAddress,
  run: () => unknown,
): unknown {
  const { duration } = instruments() ?? {};
  if (duration === undefined) return processSpan(job, queue, run);
  const startedAt = performance.now();
  const note = (ended: "returned" | "threw") => {
    duration.record((performance.now() - startedAt) / 1_000, { ...labelsOf(queue), ended });
  };
  const noteThrow = (thrown: unknown): never => {
    note("threw");
    throw thrown;
  };
  let returned: unknown;
  try {
    returned = processSpan(job, queue, run);
  } catch (thrown) {
    return noteThrow(thrown);
  }
  // A handler that is done at once is not waited for.
  if (!(returned instanceof Promise)) {
    note("returned");
    return returned;
  }
  return returned.then((value) => {
    note("returned");
    return value;
  }, noteThrow);
}

function processSpan(
  job: ActiveJob<unknown>,
  queue: QueueAddress,
  run: () => unknown,
): unknown {
  const tracer = activeTracer();
  if (tracer === undefined) return run();
  const parent = propagation.extract(ROOT_CONTEXT, job.context);
  const attributes = {
    ...attributesOf(queue, "process"),
    "messaging.message.id": job.id,
    "trellis.job.tries": job.tries,
    "trellis.job.deliveries": job.deliveries,
  };
  const options = { kind: SpanKind.CONSUMER, attributes };
  return tracer.startActiveSpan(
    `process ${queue.jobType}`,
    options,
    parent,
    (span) => endWith(span, Promise.resolve().then(run), (returned) => !isErr(returned)),
  );
}

async function endWith<Value>(
  span: Span,
  work: Promise<Value>,
  succeeded: (value: Value) => boolean,
): Promise<Value> {
  try {
    const value = await context.with(trace.setSpan(context.active(), span), () => work);
    if (!succeeded(value)) span.setStatus({ code: SpanStatusCode.ERROR });
    return value;
  } catch (thrown) {
    // To come back later is no failure.
    const snoozed = thrown instanceof Error && thrown.name === "Snooze";
    if (!snoozed) span.setStatus({ code: SpanStatusCode.ERROR, message: describeThrown(thrown) });
    throw thrown;
  } finally {
    span.end();
  }
}

function attributesOf(queue: QueueAddress, operation: "create" | "process"): Attributes {
  return {
    "messaging.system": "nats",
    "messaging.destination.name": `${queue.service}.${queue.jobType}`,
    "messaging.operation.type": operation,
    "messaging.operation.name": operation,
    "trellis.service": queue.service,
    "trellis.job.type": queue.jobType,
  };
}

function labelsOf(queue: QueueAddress): Attributes {
  return { "trellis.service": queue.service, "trellis.job.type": queue.jobType };
}

function makeInstruments() {
  const meter = metrics.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  return {
    created: meter.createCounter("trellis.job.created", { description: "Jobs created" }),
    duration: meter.createHistogram("messaging.process.duration", {
      unit: "s",
      description: "How long handlers run",
    }),
  };
}

let made: { provider: unknown; instruments: ReturnType<typeof makeInstruments> } | undefined;

/**
 * Instruments belong to the provider that is registered; one that comes later gets its own. None
 * while nobody measures.
 */
function instruments(): ReturnType<typeof makeInstruments> {
  const provider = metrics.getMeterProvider();
  if (made?.provider !== provider) made = { provider, instruments: makeInstruments() };
  return made.instruments;
}
