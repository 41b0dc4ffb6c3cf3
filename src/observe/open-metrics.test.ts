import { expect, test } from 'vitest'
import { mergeSnapshots } from './merge-snapshots.ts'
import { type Meter, meter } from './metrics.ts'
import type { AttemptFact } from './observer.ts'
import { openMetricsText, prefersOpenMetrics } from './open-metrics.ts'
import { prometheusText } from './prometheus.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

function measured(flags: string | undefined, durationMs: number): Meter {
  const context = () => (flags === undefined ? undefined : { traceparent: `00-${TRACE}-${SPAN}-${flags}` })
  const made = meter(context)
  made.observer.delivery({ source: 'test', outcome: 'recorded', status: 202, durationMs })
  return made
}

const text = (made: Meter): string => openMetricsText(made.snapshot(undefined))
const exemplars = (rendered: string): string[] => rendered.match(/^.* # \{.*$/gm) ?? []

test('a sampled measurement is the exemplar of its bucket, in OpenMetrics only', () => {
  const made = measured('01', 20)
  const [line, ...others] = exemplars(text(made))
  expect(others).toEqual([])
  expect(line).toMatch(
    /^hookonce_accept_seconds_bucket\{source="test",le="0\.025"\} 1 # \{trace_id="0af7651916cd43dd8448eb211c80319c",span_id="b7ad6b7169203331"\} 0\.02 \d+(\.\d+)?$/,
  )
  expect(prometheusText(made.snapshot(undefined))).not.toContain(TRACE)
})

test('a measurement above the last bound is the exemplar of +Inf', () => {
  expect(exemplars(text(measured('01', 90_000)))).toEqual([expect.stringContaining('le="+Inf"} 1 # {')])
})

test.each([['00'], [undefined]])('with flags %s there is no exemplar', (flags) => {
  expect(exemplars(text(measured(flags, 20)))).toEqual([])
})

test('the time from arrival to the end is measured for jobs that were completed', () => {
  const made = meter(() => ({ traceparent: `00-${TRACE}-${SPAN}-01` }))
  const attempt: AttemptFact = {
    source: 'test',
    subscriber: 'app',
    receiptId: '',
    attempt: 2,
    outcome: 'processed',
    durationMs: 3,
    ageMs: 4_000,
  }
  made.observer.attempt(attempt)
  made.observer.attempt({ ...attempt, outcome: 'retrying' })
  expect(text(made)).toContain('hookonce_processing_seconds_sum{source="test",subscriber="app"} 4\n')
  expect(text(made)).toContain('hookonce_attempt_seconds_count{source="test",subscriber="app"} 2\n')
  expect(exemplars(text(made))).toHaveLength(2)
})

test('of several processes, the latest exemplar of a bucket is kept', () => {
  const [first, second] = [measured('01', 20).snapshot(undefined), measured('00', 20).snapshot(undefined)]
  const merged = mergeSnapshots([second, JSON.parse(JSON.stringify(first))])
  expect(exemplars(openMetricsText(merged))).toEqual([expect.stringContaining('le="0.025"} 2 # {')])
})

test('a family of counters is named without _total, and the text has an end', () => {
  const rendered = text(measured(undefined, 1))
  expect(rendered).toContain('# TYPE hookonce_received counter\nhookonce_received_total{source="test"} 1\n')
  expect(rendered.endsWith('\n# EOF\n')).toBe(true)
})

test.each([
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    true,
  ],
  ['application/openmetrics-text', true],
  ['text/plain;version=0.0.4, application/openmetrics-text;q=0.5', false],
  ['application/openmetrics-text;q=0', false],
  ['*/*', false],
  [undefined, false],
])('Accept %s: OpenMetrics %s', (accept, expected) => {
  expect(prefersOpenMetrics(accept)).toBe(expected)
})

test('topics beyond the first 200 share one label, in counters and gauges', () => {
  const made = meter()
  const message = { messageId: '', key: null, attempt: 1, outcome: 'published', durationMs: 1 } as const
  for (let n = 0; n < 250; n += 1) made.observer.message({ ...message, topic: `user.${n}` })
  const outbox = Array.from({ length: 250 }, (_, n) => ({
    topic: `user.${n}`,
    waiting: n,
    failed: 0,
    lagSeconds: n,
  }))
  const rendered = prometheusText(made.snapshot({ jobs: [], outbox, circuits: [] }))
  expect(rendered).toContain('hookonce_messages_published_total{topic="(others)"} 50\n')
  expect(rendered.match(/^hookonce_messages_published_total/gm)).toHaveLength(201)
  // The 50 smallest durations: 0 + 1 + … + 49.
  expect(rendered).toContain('hookonce_outbox_waiting{topic="(others)"} 1225\n')
  expect(rendered).toContain('hookonce_outbox_lag_seconds{topic="(others)"} 49\n')
})
