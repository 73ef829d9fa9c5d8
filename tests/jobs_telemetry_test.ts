import assert from "node:assert/strict";
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { connectService, defineJobs } from "../mod.ts";
import { numbered, runOne } from "./job_service.ts";
import { testOnBothServers } from "./servers.ts";

/** Registers a whole SDK for a while. */
function recordTelemetry() {
  const spans = new InMemorySpanExporter();
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured });
  const meters = new MeterProvider({ readers: [reader] });
  const tracers = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
  });
  trace.setGlobalTracerProvider(tracers);
  metrics.setGlobalMeterProvider(meters);
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    spans: () => spans.getFinishedSpans(),
    async counts(name: string) {
      await meters.forceFlush();
      const points =
        measured.getMetrics().at(-1)?.scopeMetrics.flatMap((scope) =>
          scope.metrics.filter(({ descriptor }) => descriptor.name === name)
        ).flatMap((metric) => [...metric.dataPoints]) ?? [];
      return points.map(({ attributes, value }) => ({
        outcome: attributes["outcome"] ?? attributes["ended"],
        type: attributes["trellis.job.type"],
        count: typeof value === "number" ? value : value.count,
      }));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([meters.shutdown(), tracers.shutdown()]);
      for (const api of [trace, metrics, propagation, context]) api.disable();
    },
  };
}

function named(spans: readonly ReadableSpan[], name: string): ReadableSpan[] {
  return spans.filter((span) => span.name === name);
}

testOnBothServers(
  "create() and handle() give linked spans and metrics to a registered SDK",
  async (server) => {
    await using telemetry = recordTelemetry();
    const definition = defineJobs("traced", { work: { payload: numbered, backoffMs: [10] } });
    await using service = await connectService(definition, { servers: server.url }).orThrow();
    const inner: (string | undefined)[] = [];
    service.jobs.work.handle(async ({ job }) => {
      await Promise.resolve();
      inner.push(trace.getActiveSpan()?.spanContext().spanId);
      if (job.tries === 1) throw new Error("boom");
    });
    await service.start().orThrow();
    const outer = trace.getTracer("test").startSpan("request");
    const { job } = await context.with(
      trace.setSpan(context.active(), outer),
      () => runOne(service.jobs.work, { n: 1 }),
    );
    outer.end();

    const [create] = named(telemetry.spans(), "create work");
    assert.ok(create);
    assert.equal(create.kind, SpanKind.PRODUCER);
    assert.equal(create.parentSpanContext?.spanId, outer.spanContext().spanId);
    const { traceId, spanId } = create.spanContext();
    assert.equal(job.context.traceparent, `00-${traceId}-${spanId}-01`);
    const processed = named(telemetry.spans(), "process work");
    assert.deepEqual(processed.map(({ status }) => status), [
      { code: SpanStatusCode.ERROR, message: "boom" },
      { code: SpanStatusCode.UNSET },
    ]);
    for (const [index, span] of processed.entries()) {
      assert.equal(span.kind, SpanKind.CONSUMER);
      assert.equal(span.spanContext().traceId, traceId);
      assert.equal(span.parentSpanContext?.spanId, spanId);
      assert.equal(span.spanContext().spanId, inner[index]);
      assert.equal(span.attributes["messaging.system"], "nats");
      assert.equal(span.attributes["messaging.destination.name"], "traced.work");
      assert.equal(span.attributes["messaging.operation.type"], "process");
      assert.equal(span.attributes["messaging.message.id"], job.id);
      assert.equal(span.attributes["trellis.job.tries"], index + 1);
    }
    assert.deepEqual(await telemetry.counts("trellis.job.created"), [
      { outcome: "stored", type: "work", count: 1 },
    ]);
    assert.deepEqual(await telemetry.counts("messaging.process.duration"), [
      { outcome: "threw", type: "work", count: 1 },
      { outcome: "returned", type: "work", count: 1 },
    ]);
  },
);
