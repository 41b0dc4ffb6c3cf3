import { expect, test } from 'vitest'
import type { Backlogs } from './gauges.ts'
import { mergeLedgers } from './merge-ledgers.ts'
import { meter } from './metrics.ts'
import { prometheusText } from './prometheus.ts'
import type { MetricsSnapshot } from './snapshot.ts'

const PLACE = { source: 'stripe', subscriber: 'app' }

function backlogs(count: number, lagSeconds: number): Backlogs {
  const jobs = {
    waiting: count,
    retrying: count,
    failed: count,
    stranded: 0,
    attention: count,
    effectsUnknown: count,
    unattended: count,
  }
  return {
    jobs: [{ ...PLACE, ...jobs, lagSeconds }],
    outbox: [{ topic: 'paid', waiting: count, failed: count, lagSeconds }],
    circuits: [{ ...PLACE, isOpen: lagSeconds > 0 }],
  }
}

/** An engine that has received one event. Undefined: it cannot read its ledger. */
function engine(found: Backlogs | undefined): MetricsSnapshot {
  const { observer, snapshot } = meter()
  observer.delivery({ source: 'stripe', outcome: 'recorded', status: 202, durationMs: 1 })
  return snapshot(found)
}

const JOBS = '{source="stripe",subscriber="app"}'

test('backlogs of different ledgers are added up, and the worst lag and circuit count', () => {
  const text = prometheusText(
    mergeLedgers([
      { ledger: 'a', snapshot: engine(backlogs(2, 0)) },
      { ledger: 'b', snapshot: engine(backlogs(3, 40)) },
    ]),
  )
  expect(text).toContain(`hookonce_jobs_failed${JOBS} 5\n`)
  expect(text).toContain('hookonce_outbox_waiting{topic="paid"} 5\n')
  expect(text).toContain(`hookonce_processing_lag_seconds${JOBS} 40\n`)
  expect(text).toContain('hookonce_outbox_lag_seconds{topic="paid"} 40\n')
  expect(text).toContain(`hookonce_circuit_open${JOBS} 1\n`)
  expect(text).toContain('hookonce_received_total{source="stripe"} 2\n')
})

test('two engines of one ledger read the same backlog, which counts once', () => {
  const text = prometheusText(
    mergeLedgers([
      { ledger: 'a', snapshot: engine(backlogs(2, 0)) },
      { ledger: 'b', snapshot: engine(backlogs(3, 40)) },
      // The second engine read a moment later.
      { ledger: 'a', snapshot: engine(backlogs(4, 1)) },
    ]),
  )
  for (const name of ['waiting', 'retrying', 'unattended', 'failed', 'attention'])
    expect(text).toContain(`hookonce_jobs_${name}${JOBS} 7\n`)
  expect(text).toContain(`hookonce_effects_unknown${JOBS} 7\n`)
  expect(text).toContain('hookonce_outbox_waiting{topic="paid"} 7\n')
  expect(text).toContain('hookonce_outbox_failed{topic="paid"} 7\n')
  expect(text).toContain(`hookonce_processing_lag_seconds${JOBS} 40\n`)
  // Counters belong to the engines, so they are added up.
  expect(text).toContain('hookonce_received_total{source="stripe"} 3\n')
})

test('each ledger has a sample, and is up only if every engine can read it', () => {
  const text = prometheusText(
    mergeLedgers([
      { ledger: 'a', snapshot: engine(undefined) },
      { ledger: 'b', snapshot: engine(backlogs(3, 0)) },
      { ledger: 'a', snapshot: engine(backlogs(2, 0)) },
    ]),
  )
  expect(text.match(/^hookonce_ledger_up.*$/gm)).toEqual([
    'hookonce_ledger_up{ledger="a"} 0',
    'hookonce_ledger_up{ledger="b"} 1',
  ])
  expect(text).toContain(`hookonce_jobs_failed${JOBS} 5\n`)
})
