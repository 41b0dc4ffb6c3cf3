import type {
  Exemplar,
  HistogramMetric,
  HistogramSample,
  Labels,
  Metric,
  MetricsSnapshot,
  Sample,
} from './snapshot.ts'

/**
 * The metrics of several processes as one. Counters and histograms are added up. Gauges are read
 * from the ledger, so all processes report the same gauges, and those of the first snapshot are
 * used.
 */
export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const merged = new Map<string, Metric>()
  for (const { metrics } of snapshots)
    for (const metric of metrics) {
      const before = merged.get(metric.name)
      merged.set(metric.name, before === undefined ? metric : mergeMetric(before, metric))
    }
  return { metrics: [...merged.values()] }
}

function mergeMetric(first: Metric, next: Metric): Metric {
  if (first.type === 'counter' && next.type === 'counter')
    return { ...first, samples: mergeSamples(first.samples, next.samples, addValues) }
  if (first.type === 'histogram' && next.type === 'histogram') return mergeHistogram(first, next)
  return first
}

function mergeHistogram(first: HistogramMetric, next: HistogramMetric): HistogramMetric {
  return { ...first, samples: mergeSamples(first.samples, next.samples, addHistograms) }
}

function mergeSamples<S extends { readonly labels: Labels }>(
  first: readonly S[],
  next: readonly S[],
  add: (a: S, b: S) => S,
): S[] {
  const byLabels = new Map(first.map((sample) => [keyOf(sample.labels), sample]))
  for (const sample of next) {
    const before = byLabels.get(keyOf(sample.labels))
    byLabels.set(keyOf(sample.labels), before === undefined ? sample : add(before, sample))
  }
  return [...byLabels.values()]
}

function addValues(a: Sample, b: Sample): Sample {
  return { labels: a.labels, value: a.value + b.value }
}

function addHistograms(a: HistogramSample, b: HistogramSample): HistogramSample {
  return {
    labels: a.labels,
    counts: a.counts.map((count, index) => count + (b.counts[index] ?? 0)),
    sum: a.sum + b.sum,
    count: a.count + b.count,
    ...mergedExemplars(a.exemplars, b.exemplars),
  }
}

type Exemplars = readonly (Exemplar | null)[]

/** The latest exemplar of each bucket. */
function mergedExemplars(a: Exemplars | undefined, b: Exemplars | undefined): { exemplars?: Exemplars } {
  const exemplars = a && b ? a.map((one, bucket) => later(one, b[bucket] ?? null)) : (a ?? b)
  return exemplars ? { exemplars } : {}
}

function later(a: Exemplar | null, b: Exemplar | null): Exemplar | null {
  if (!a || !b) return a ?? b
  return a.at >= b.at ? a : b
}

/** All processes write the labels of a metric in the same order. */
function keyOf(labels: Labels): string {
  return JSON.stringify(labels)
}
