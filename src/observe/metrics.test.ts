import { expect, test } from 'vitest'
import type { Backlogs } from './gauges.ts'
import { meter } from './metrics.ts'
import type { AttemptFact, DeliveryFact } from './observer.ts'
import { prometheusText } from './prometheus.ts'

const NOTHING = { jobs: [], outbox: [], circuits: [] }
const attempt: AttemptFact = {
  source: 'test',
  subscriber: 'app',
  receiptId: '00000000-0000-0000-0000-000000000001',
  attempt: 1,
  outcome: 'processed',
  durationMs: 20,
  ageMs: 300,
}
/** A meter, and its metrics in the text format of Prometheus. */
function metrics() {
  const { observer, snapshot } = meter()
  return {
    observer,
    snapshot,
    render: (backlogs: Backlogs | undefined) => prometheusText(snapshot(backlogs)),
  }
}

const delivery: DeliveryFact = { source: 'test', outcome: 'recorded', status: 202, durationMs: 2 }

test('an idle process declares every metric, and has samples of those without labels', () => {
  const all = metrics().render(NOTHING).split('\n').filter(Boolean)
  const samples = ['hookonce_rescued_total 0', 'hookonce_trouble_total 0', 'hookonce_ledger_up 1']
  const lines = all.filter((line) => !samples.includes(line))
  expect(lines).toHaveLength(all.length - 3)
  expect(lines.every((line) => line.startsWith('# '))).toBe(true)
  expect(lines.filter((line) => line.startsWith('# TYPE')).length).toBe(lines.length / 2)
})

test('buckets are cumulative, and the longest run is still counted', () => {
  const { observer, render } = metrics()
  for (const durationMs of [0.5, 20, 20, 3_600_000]) observer.attempt({ ...attempt, durationMs })
  const text = render(NOTHING)
  const bucket = (le: string) =>
    Number(
      text
        .split('\n')
        .find((line) =>
          line.startsWith(`hookonce_attempt_seconds_bucket{source="test",subscriber="app",le="${le}"}`),
        )
        ?.split(' ')
        .at(-1),
    )
  expect([bucket('0.001'), bucket('0.01'), bucket('0.025'), bucket('60'), bucket('+Inf')]).toEqual([
    1, 1, 3, 3, 4,
  ])
  expect(text).toContain('hookonce_attempt_seconds_sum{source="test",subscriber="app"} 3600.0405')
})

test('every outcome of an attempt has a counter that is declared', () => {
  const { observer, render } = metrics()
  const outcomes = ['processed', 'retrying', 'failed', 'returned', 'lost'] as const
  for (const outcome of outcomes) observer.attempt({ ...attempt, outcome })
  for (const outcome of outcomes)
    expect(render(NOTHING)).toContain(`hookonce_${outcome}_total{source="test",subscriber="app"} 1\n`)
})

test('a mismatch also counts as a duplicate; a refusal has its reason and no accept time', () => {
  const { observer, render } = metrics()
  observer.delivery({ ...delivery, outcome: 'mismatch' })
  observer.delivery({ ...delivery, outcome: 'rejected', status: 401, code: 'SIGNATURE_MISMATCH' })
  const text = render(NOTHING)
  expect(text).toContain('hookonce_mismatch_total{source="test"} 1\n')
  expect(text).toContain('hookonce_duplicate_total{source="test"} 1\n')
  expect(text).toContain('hookonce_rejected_total{source="test",reason="SIGNATURE_MISMATCH"} 1\n')
  expect(text).toContain('hookonce_accept_seconds_count{source="test"} 1\n')
})

test('a delivery that was recorded without a key or type counts as unread, and as received', () => {
  const { observer, render } = metrics()
  observer.delivery({ ...delivery, code: 'EVENT_KEY_MISSING' })
  expect(render(NOTHING)).toContain('hookonce_unread_total{source="test",reason="EVENT_KEY_MISSING"} 1\n')
  expect(render(NOTHING)).toContain('hookonce_received_total{source="test"} 1\n')
})

test('no value of a label can break the format', () => {
  const { observer, render } = metrics()
  observer.attempt({ ...attempt, subscriber: 'a"b\\c\nd' })
  expect(render(NOTHING)).toContain('hookonce_processed_total{source="test",subscriber="a\\"b\\\\c\\nd"} 1\n')
})

test('while the ledger cannot be read, the counts of this process are still reported', () => {
  const { observer, render } = metrics()
  observer.delivery(delivery)
  const text = render(undefined)
  expect(text).toContain('hookonce_received_total{source="test"} 1\n')
  expect(text).toContain('hookonce_ledger_up 0\n')
})

test('a snapshot is plain data, and does not change with later counts', () => {
  const { observer, snapshot } = metrics()
  observer.attempt(attempt)
  const taken = snapshot(NOTHING)
  const json = JSON.stringify(taken)
  observer.attempt(attempt)
  expect(JSON.parse(json)).toEqual(taken)
  expect(taken.metrics.find(({ name }) => name === 'hookonce_processed_total')).toEqual({
    name: 'hookonce_processed_total',
    help: 'Attempts that completed their job.',
    type: 'counter',
    samples: [{ labels: { source: 'test', subscriber: 'app' }, value: 1 }],
  })
})
