// Starts the real SDK of OpenTelemetry, as `node --import` does in production. It appends each span
// that ends, and the metrics at the end of the process, to a file as a line of JSON.
import { appendFileSync } from 'node:fs'
import { metrics } from '@opentelemetry/api'
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

const write = (line) => appendFileSync(process.env.TELEMETRY_FILE, `${JSON.stringify(line)}\n`)
const done = async () => undefined

const spans = {
  export(ended, onResult) {
    for (const span of ended) {
      const { traceId, spanId, traceState } = span.spanContext()
      write({
        pid: process.pid,
        name: span.name,
        kind: span.kind,
        traceId,
        spanId,
        parent: span.parentSpanContext?.spanId,
        tracestate: traceState?.serialize(),
        attributes: span.attributes,
        links: span.links.map(({ context }) => context.traceId),
        status: span.status,
        events: span.events.map(({ name, attributes }) => ({ name, attributes })),
      })
    }
    onResult({ code: 0 })
  },
  shutdown: done,
  forceFlush: done,
}
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).register()

const measurements = {
  export({ scopeMetrics }, onResult) {
    for (const { metrics: all } of scopeMetrics)
      for (const { descriptor, dataPoints } of all)
        write({
          pid: process.pid,
          metric: descriptor.name,
          points: dataPoints.map((point) => point.attributes),
        })
    onResult({ code: 0 })
  },
  selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
  shutdown: done,
  forceFlush: done,
}
const reader = new PeriodicExportingMetricReader({
  exporter: measurements,
  exportIntervalMillis: 500,
  exportTimeoutMillis: 400,
})
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
