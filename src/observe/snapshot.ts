/**
 * The metrics of a process at one time, as plain data. The data can be sent as JSON, so processes
 * can exchange it.
 */
export interface MetricsSnapshot {
  /** Every metric, including those without a sample. */
  readonly metrics: readonly Metric[]
}

export type Metric = CounterMetric | GaugeMetric | HistogramMetric
export type Labels = Readonly<Record<string, string>>

interface MetricHead {
  readonly name: string
  readonly help: string
}

/** Counted by this process since it started. */
export interface CounterMetric extends MetricHead {
  readonly type: 'counter'
  readonly samples: readonly Sample[]
}

/** Read from the ledger, so every process reports the same values. */
export interface GaugeMetric extends MetricHead {
  readonly type: 'gauge'
  readonly samples: readonly Sample[]
}

/** Durations measured by this process since it started, in seconds. */
export interface HistogramMetric extends MetricHead {
  readonly type: 'histogram'
  /** The upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[]
  readonly samples: readonly HistogramSample[]
}

export interface Sample {
  readonly labels: Labels
  readonly value: number
}

export interface HistogramSample {
  readonly labels: Labels
  /** Per bucket, not cumulative. Durations above the last bound are only in `count`. */
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
  /**
   * One entry per bucket, and one for durations above the last bound: the last measurement there
   * whose trace is recorded, or null. Undefined if nothing is traced.
   */
  readonly exemplars?: readonly (Exemplar | null)[]
}

/** One measurement, and the trace that shows it. */
export interface Exemplar {
  readonly traceId: string
  readonly spanId: string
  /** Seconds. */
  readonly value: number
  /** Milliseconds since 1970. */
  readonly at: number
}
