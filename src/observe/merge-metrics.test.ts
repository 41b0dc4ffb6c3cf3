import { expect, test } from 'vitest'
import { mergeMetrics } from './merge-metrics.ts'
import { metrics } from './metrics.ts'

const BACKLOG = [
  {
    source: 'test',
    subscriber: 'app',
    lagSeconds: 2.5,
    waiting: 7,
    retrying: 1,
    failed: 3,
    attention: 0,
    effectsUnknown: 0,
    unattended: 0,
  },
]

function afterDeliveries(sources: readonly string[]): string {
  const { observer, render } = metrics()
  for (const source of sources) observer.delivery({ source, outcome: 'recorded', status: 202, durationMs: 2 })
  return render({ jobs: BACKLOG, outbox: [] })
}

test('counts of all processes are added, and the backlog is told once', () => {
  const merged = mergeMetrics([afterDeliveries(['a', 'a', 'b']), afterDeliveries(['b', 'c'])])
  expect(merged).toContain('hookonce_received_total{source="a"} 2\n')
  expect(merged).toContain('hookonce_received_total{source="b"} 2\n')
  expect(merged).toContain('hookonce_received_total{source="c"} 1\n')
  expect(merged).toContain('hookonce_accept_seconds_count{source="b"} 2\n')
  expect(merged).toContain('hookonce_accept_seconds_bucket{source="b",le="0.0025"} 2\n')
  expect(merged).toContain('hookonce_jobs_waiting{source="test",subscriber="app"} 7\n')
})

test('one process is told as it is', () => {
  const text = afterDeliveries(['a'])
  expect(mergeMetrics([text])).toBe(text)
})

test('a gauge that the first process no longer has is not taken from a later one', () => {
  const { render } = metrics()
  const merged = mergeMetrics([render({ jobs: [], outbox: [] }), afterDeliveries(['a'])])
  expect(merged).toContain('hookonce_received_total{source="a"} 1\n')
  expect(merged).not.toContain('hookonce_jobs_waiting{')
})
