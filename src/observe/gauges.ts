import type { Backlog } from '../ledger/read/jobs.ts'
import type { OutboxBacklog } from '../ledger/read/outbox.ts'
import type { GaugeMetric, Labels, Sample } from './snapshot.ts'
import { MAX_TOPICS, OTHER_TOPICS } from './topic-limit.ts'

/** Read from the ledger for each scrape, so every process reports the same values. */
export interface Backlogs {
  readonly jobs: readonly Backlog[]
  readonly outbox: readonly OutboxBacklog[]
  readonly circuits: readonly CircuitGauge[]
}

/** The circuit of one subscriber. */
export interface CircuitGauge {
  readonly source: string
  readonly subscriber: string
  /** True if the circuit is open or half-open. */
  readonly isOpen: boolean
}

/** While the ledger cannot be read, only `hookonce_ledger_up` has a sample. */
export function gauges(backlogs: Backlogs | undefined): GaugeMetric[] {
  const outbox = backlogs && limitedBacklog(backlogs.outbox)
  return [
    ...gaugesOf(JOB_GAUGES, backlogs?.jobs, ({ source, subscriber }) => ({ source, subscriber })),
    ...gaugesOf(CIRCUIT_GAUGES, backlogs?.circuits, ({ source, subscriber }) => ({ source, subscriber })),
    ...gaugesOf(OUTBOX_GAUGES, outbox, ({ topic }) => ({ topic })),
    ledgerUp(backlogs !== undefined),
  ]
}

interface Gauge<Row> {
  readonly help: string
  readonly of: (row: Row) => number
}

const JOB_GAUGES: Readonly<Record<string, Gauge<Backlog>>> = {
  hookonce_processing_lag_seconds: {
    help: 'Age of the oldest job that is due.',
    of: (backlog) => backlog.lagSeconds,
  },
  hookonce_jobs_waiting: {
    help: 'Jobs received and not yet started.',
    of: (backlog) => backlog.waiting,
  },
  hookonce_jobs_retrying: {
    help: 'Jobs that wait for their next attempt.',
    of: (backlog) => backlog.retrying,
  },
  hookonce_jobs_unattended: {
    help: 'Jobs that wait for a subscriber that no running worker serves.',
    of: (backlog) => backlog.unattended,
  },
  hookonce_jobs_failed: {
    help: 'Jobs that were given up and wait for a replay.',
    of: (backlog) => backlog.failed,
  },
  hookonce_jobs_attention: {
    help: 'Jobs that wait for an operator to decide on an effect.',
    of: (backlog) => backlog.attention,
  },
  hookonce_effects_unknown: {
    help: 'Effects whose outcome is unknown.',
    of: (backlog) => backlog.effectsUnknown,
  },
}

const CIRCUIT_GAUGES: Readonly<Record<string, Gauge<CircuitGauge>>> = {
  hookonce_circuit_open: {
    help: '1 if the circuit of the subscriber is open or half-open, else 0.',
    of: ({ isOpen }) => (isOpen ? 1 : 0),
  },
}

const OUTBOX_GAUGES: Readonly<Record<string, Gauge<OutboxBacklog>>> = {
  hookonce_outbox_lag_seconds: {
    help: 'Age of the oldest message that waits.',
    of: (backlog) => backlog.lagSeconds,
  },
  hookonce_outbox_waiting: {
    help: 'Messages not yet published.',
    of: (backlog) => backlog.waiting,
  },
  hookonce_outbox_failed: {
    help: 'Messages that were given up and wait for a replay.',
    of: (backlog) => backlog.failed,
  },
}

/**
 * The topics with the largest backlogs have their own samples, and all others share one: see
 * topic-limit.ts.
 */
function limitedBacklog(backlogs: readonly OutboxBacklog[]): readonly OutboxBacklog[] {
  if (backlogs.length <= MAX_TOPICS) return backlogs
  const sorted = [...backlogs].sort((a, b) => b.waiting + b.failed - a.waiting - a.failed)
  const others = sorted.slice(MAX_TOPICS).reduce((sum, backlog) => ({
    topic: OTHER_TOPICS,
    waiting: sum.waiting + backlog.waiting,
    failed: sum.failed + backlog.failed,
    lagSeconds: Math.max(sum.lagSeconds, backlog.lagSeconds),
  }))
  return [...sorted.slice(0, MAX_TOPICS), { ...others, topic: OTHER_TOPICS }]
}

function gaugesOf<Row>(
  gauges: Readonly<Record<string, Gauge<Row>>>,
  rows: readonly Row[] = [],
  labelsOf: (row: Row) => Labels,
): GaugeMetric[] {
  return Object.entries(gauges).map(([name, { help, of }]) => {
    const samples: Sample[] = rows.map((row) => ({ labels: labelsOf(row), value: of(row) }))
    return { name, help, type: 'gauge', samples }
  })
}

function ledgerUp(isUp: boolean): GaugeMetric {
  const help = '1 if the ledger could be read for this scrape, else 0.'
  const samples = [{ labels: {}, value: isUp ? 1 : 0 }]
  return { name: 'hookonce_ledger_up', help, type: 'gauge', samples }
}
