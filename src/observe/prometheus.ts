import type { Exemplar, HistogramMetric, Labels, Metric, MetricsSnapshot, Sample } from './snapshot.ts'

/** Renders a snapshot in the text format of Prometheus. */
export function prometheusText({ metrics }: MetricsSnapshot): string {
  return metrics.flatMap(linesOf).concat('').join('\n')
}

function linesOf(metric: Metric): string[] {
  const { name, help, type } = metric
  const samples = type === 'histogram' ? histogramLines(metric) : metric.samples.map(lineOf(name))
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples]
}

export function lineOf(name: string): (sample: Sample) => string {
  return ({ labels, value }) => `${seriesOf(name, labels)} ${value}`
}

/** In this format each bucket includes the buckets before it. */
export function histogramLines(
  { name, bounds, samples }: HistogramMetric,
  exemplarOf: (exemplar: Exemplar | null | undefined) => string = () => '',
): string[] {
  return samples.flatMap(({ labels, counts, sum, count, exemplars }) => {
    let below = 0
    const buckets = bounds.map((le, index) => {
      below += counts[index] ?? 0
      return `${seriesOf(`${name}_bucket`, { ...labels, le: String(le) })} ${below}${exemplarOf(exemplars?.[index])}`
    })
    return [
      ...buckets,
      `${seriesOf(`${name}_bucket`, { ...labels, le: '+Inf' })} ${count}${exemplarOf(exemplars?.[bounds.length])}`,
      `${seriesOf(`${name}_sum`, labels)} ${sum}`,
      `${seriesOf(`${name}_count`, labels)} ${count}`,
    ]
  })
}

function seriesOf(name: string, labels: Labels): string {
  const text = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`)
  return text.length === 0 ? name : `${name}{${text.join(',')}}`
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}
