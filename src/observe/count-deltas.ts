import { type CountDelta, type CountName, countNames } from '../ledger/stats/rollups.ts'
import type { ErrorCode } from '../model/errors.ts'
import { sourceNameOf } from '../model/source-key.ts'
import type { Labels, MetricsSnapshot } from './snapshot.ts'

/*
 * The counts of a process between two snapshots of its metrics, by source and subscriber. It reads
 * counters that exist anyway, so statistics add no cost to deliveries.
 */

const COUNTERS: Readonly<Record<string, CountName>> = {
  hookonce_received_total: 'received',
  hookonce_duplicate_total: 'duplicate',
  hookonce_mismatch_total: 'mismatch',
  hookonce_unwanted_total: 'unwanted',
  hookonce_rejected_total: 'rejected',
  hookonce_processed_total: 'processed',
  hookonce_stale_total: 'stale',
  hookonce_retrying_total: 'retrying',
  hookonce_failed_total: 'failed',
  hookonce_attention_total: 'attention',
  hookonce_effects_spared_total: 'spared',
}

/** Reasons why a signature is not accepted. */
const UNSIGNED: ReadonlySet<string> = new Set<ErrorCode>([
  'SIGNATURE_MISSING',
  'SIGNATURE_MALFORMED',
  'SIGNATURE_MISMATCH',
  'TIMESTAMP_TOO_OLD',
  'TIMESTAMP_IN_FUTURE',
])

export type TenantOf = (source: string) => string

interface OpenDelta extends Record<CountName, number> {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  accept: number[]
}

/** Without `before`, counts since the process started. Omits counts that did not change. */
export function countDeltas(
  before: MetricsSnapshot | undefined,
  after: MetricsSnapshot,
  tenantOf: TenantOf,
): CountDelta[] {
  const deltas = new Map<string, OpenDelta>()

  function deltaOf({ source = '', subscriber = '' }: Labels): OpenDelta {
    const key = JSON.stringify([source, subscriber])
    const known = deltas.get(key)
    if (known) return known
    const zeros = Object.fromEntries(countNames.map((name) => [name, 0])) as Record<CountName, number>
    const delta = { tenant: tenantOf(source), source: sourceNameOf(source), subscriber, accept: [], ...zeros }
    deltas.set(key, delta)
    return delta
  }

  const old = samplesOf(before)
  for (const metric of after.metrics) {
    const count = COUNTERS[metric.name]
    if (metric.type === 'counter' && count !== undefined)
      for (const { labels, value } of metric.samples) {
        const more = value - (old.counts.get(keyOf(metric.name, labels)) ?? 0)
        if (more === 0) continue
        const delta = deltaOf(labels)
        delta[count] += more
        if (count === 'rejected' && UNSIGNED.has(labels.reason ?? '')) delta.unsigned += more
      }
    if (metric.type === 'histogram' && metric.name === 'hookonce_accept_seconds')
      for (const { labels, counts, count: all } of metric.samples) {
        const was = old.histograms.get(keyOf(metric.name, labels))
        if (all === (was?.count ?? 0)) continue
        const more = counts.map((now, at) => now - (was?.counts[at] ?? 0))
        const above = all - (was?.count ?? 0) - more.reduce((sum, n) => sum + n, 0)
        deltaOf(labels).accept = [...more, above]
      }
  }
  return [...deltas.values()]
}

function samplesOf(snapshot: MetricsSnapshot | undefined) {
  const counts = new Map<string, number>()
  const histograms = new Map<string, { readonly counts: readonly number[]; readonly count: number }>()
  for (const metric of snapshot?.metrics ?? []) {
    if (metric.type === 'counter')
      for (const { labels, value } of metric.samples) counts.set(keyOf(metric.name, labels), value)
    if (metric.type === 'histogram')
      for (const sample of metric.samples) histograms.set(keyOf(metric.name, sample.labels), sample)
  }
  return { counts, histograms }
}

function keyOf(name: string, labels: Labels): string {
  return `${name}${JSON.stringify(labels)}`
}
