import { histogramLines, lineOf } from './prometheus.ts'
import type { Exemplar, Metric, MetricsSnapshot } from './snapshot.ts'

/*
 * The format OpenMetrics 1.0: the format of Prometheus, with exemplars. An exemplar links a bucket
 * of a histogram to the trace of one measurement in it.
 */

export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8'

export function openMetricsText({ metrics }: MetricsSnapshot): string {
  return metrics.flatMap(linesOf).concat('# EOF', '').join('\n')
}

function linesOf(metric: Metric): string[] {
  const { name, help, type } = metric
  // In this format, the name of a counter lacks the `_total` of its samples.
  const family = type === 'counter' ? name.replace(/_total$/, '') : name
  const samples =
    type === 'histogram' ? histogramLines(metric, exemplarText) : metric.samples.map(lineOf(name))
  return [`# HELP ${family} ${help.replaceAll('"', '\\"')}`, `# TYPE ${family} ${type}`, ...samples]
}

function exemplarText(exemplar: Exemplar | null | undefined): string {
  if (!exemplar) return ''
  const { traceId, spanId, value, at } = exemplar
  return ` # {trace_id="${traceId}",span_id="${spanId}"} ${value} ${at / 1000}`
}

/**
 * Whether a client that sent this `Accept` prefers OpenMetrics to the plain format. Prometheus
 * lists the formats that it reads, with weights.
 */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map(weighed)
  const open = ranges.find(({ type }) => type === 'application/openmetrics-text')
  if (!open || open.weight === 0) return false
  const plain = ranges.find(({ type }) => type === 'text/plain')
  return plain === undefined || open.weight >= plain.weight
}

function weighed(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((parameter) => parameter.startsWith('q='))
  const weight = quality === undefined ? 1 : Number(quality.slice(2))
  return { type, weight: Number.isFinite(weight) ? weight : 0 }
}
