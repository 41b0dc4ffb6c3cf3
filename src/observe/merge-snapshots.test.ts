import { expect, test } from 'vitest'
import { mergeSnapshots } from './merge-snapshots.ts'
import { meter } from './metrics.ts'
import { prometheusText } from './prometheus.ts'
import type { MetricsSnapshot } from './snapshot.ts'

const BACKLOG = [
  {
    source: 'test',
    subscriber: 'app',
    lagSeconds: 2.5,
    waiting: 7,
    retrying: 1,
    failed: 3,
    stranded: 0,
    attention: 0,
    effectsUnknown: 0,
    unattended: 0,
  },
]

function mergedText(snapshots: readonly MetricsSnapshot[]): string {
  return prometheusText(mergeSnapshots(snapshots))
}

function afterDeliveries(sources: readonly string[]): MetricsSnapshot {
  const { observer, snapshot } = meter()
  for (const source of sources) observer.delivery({ source, outcome: 'recorded', status: 202, durationMs: 2 })
  return snapshot({ jobs: BACKLOG, outbox: [], circuits: [] })
}

test('counts of all processes are added, and the backlog is reported once', () => {
  const merged = mergedText([afterDeliveries(['a', 'a', 'b']), afterDeliveries(['b', 'c'])])
  expect(merged).toContain('hookonce_received_total{source="a"} 2\n')
  expect(merged).toContain('hookonce_received_total{source="b"} 2\n')
  expect(merged).toContain('hookonce_received_total{source="c"} 1\n')
  expect(merged).toContain('hookonce_accept_seconds_count{source="b"} 2\n')
  expect(merged).toContain('hookonce_accept_seconds_bucket{source="b",le="0.0025"} 2\n')
  expect(merged).toContain('hookonce_jobs_waiting{source="test",subscriber="app"} 7\n')
})

test('the metrics of one process are reported unchanged', () => {
  const snapshot = afterDeliveries(['a'])
  expect(mergeSnapshots([snapshot])).toEqual(snapshot)
})

test('a gauge that the first process lacks is not taken from a later process', () => {
  const { snapshot } = meter()
  const merged = mergedText([snapshot({ jobs: [], outbox: [], circuits: [] }), afterDeliveries(['a'])])
  expect(merged).toContain('hookonce_received_total{source="a"} 1\n')
  expect(merged).not.toContain('hookonce_jobs_waiting{')
})
