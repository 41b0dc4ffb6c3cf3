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

const LEDGER_UP = 'hookonce_ledger_up'

/**
 * The metrics of several ledgers of one process as one. Each ledger has its own backlog, so gauges
 * are added up too. `hookonce_ledger_up` has a sample for each ledger, with its name.
 */
export function mergeLedgers(snapshots: readonly LedgerSnapshot[]): MetricsSnapshot {
  const merged = mergeSnapshots(snapshots.map(({ snapshot }) => snapshot))
  const ledgers = [...byLedger(snapshots)]
  return {
    metrics: merged.metrics.map((metric) => (metric.type === 'gauge' ? mergeGauge(metric, ledgers) : metric)),
  }
}

type Engines = readonly [ledger: string, snapshots: readonly MetricsSnapshot[]]

function byLedger(snapshots: readonly LedgerSnapshot[]): Map<string, MetricsSnapshot[]> {
  const ledgers = new Map<string, MetricsSnapshot[]>()
  for (const { ledger, snapshot } of snapshots)
    ledgers.set(ledger, [...(ledgers.get(ledger) ?? []), snapshot])
  return ledgers
}

function mergeGauge(metric: GaugeMetric, ledgers: readonly Engines[]): GaugeMetric {
  const { name } = metric
  const samples = ledgers.flatMap(([ledger, snapshots]) => {
    const own = gaugeOfLedger(name, snapshots)
    return name === LEDGER_UP ? own.map(({ value }) => ({ labels: { ledger }, value })) : own
  })
  return { ...metric, samples: combined(samples, WORST.has(name) ? Math.max : add) }
}

/**
 * A ledger has a second engine after a tenant has moved into it. Each engine reads the backlog of
 * the whole ledger, so the values must not be added up. The ledger is up only if every engine can
 * read it.
 */
function gaugeOfLedger(name: string, snapshots: readonly MetricsSnapshot[]): Sample[] {
  const samples = snapshots.flatMap(({ metrics }) =>
    metrics.flatMap((metric) => (metric.name === name && metric.type === 'gauge' ? metric.samples : [])),
  )
  return combined(samples, name === LEDGER_UP ? Math.min : Math.max)
}

function combined(samples: readonly Sample[], combine: (a: number, b: number) => number): Sample[] {
  const byLabels = new Map<string, Sample>()
  for (const { labels, value } of samples) {
    const key = JSON.stringify(labels)
    const before = byLabels.get(key)
    byLabels.set(key, { labels, value: before === undefined ? value : combine(before.value, value) })
  }
  return [...byLabels.values()]
}

function add(a: number, b: number): number {
  return a + b
}
