import { mergeSnapshots } from './merge-snapshots.ts'
import type { GaugeMetric, MetricsSnapshot, Sample } from './snapshot.ts'

/** The metrics of one ledger's engine. */
export interface LedgerSnapshot {
  readonly ledger: string
  readonly snapshot: MetricsSnapshot
}

/** Ages and states cannot be added up: the worst value of all ledgers counts. */
const WORST = new Set([
  'hookonce_processing_lag_seconds',
  'hookonce_outbox_lag_seconds',
  'hookonce_circuit_open',
])

/**
 * The metrics of several ledgers of one process as one. Each ledger has its own backlog, so gauges
 * are added up too. `hookonce_ledger_up` has a sample for each ledger, with its name.
 */
export function mergeLedgers(ledgers: readonly LedgerSnapshot[]): MetricsSnapshot {
  const merged = mergeSnapshots(ledgers.map(({ snapshot }) => snapshot))
  return {
    metrics: merged.metrics.map((metric) => (metric.type === 'gauge' ? mergeGauge(metric, ledgers) : metric)),
  }
}

function mergeGauge(metric: GaugeMetric, ledgers: readonly LedgerSnapshot[]): GaugeMetric {
  const samples = new Map<string, Sample>()
  for (const { ledger, snapshot } of ledgers)
    for (const found of snapshot.metrics) {
      if (found.name !== metric.name || found.type !== 'gauge') continue
      for (const sample of found.samples) {
        const labels = metric.name === 'hookonce_ledger_up' ? { ledger } : sample.labels
        const key = JSON.stringify(labels)
        const value = combined(metric.name, samples.get(key)?.value, sample.value)
        samples.set(key, { labels, value })
      }
    }
  return { ...metric, samples: [...samples.values()] }
}

function combined(name: string, before: number | undefined, value: number): number {
  if (before === undefined) return value
  // A ledger may have two engines: it is up only if both can read it.
  if (name === 'hookonce_ledger_up') return Math.min(before, value)
  return WORST.has(name) ? Math.max(before, value) : before + value
}
