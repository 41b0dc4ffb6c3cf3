import type { Backlog } from '../ledger/read/jobs.ts'
import type { OutboxBacklog } from '../ledger/read/outbox.ts'
import { EffectBusy } from '../model/handler-errors.ts'
import type { AttemptFact, Observer } from './observer.ts'
import type {
  CounterMetric,
  GaugeMetric,
  HistogramMetric,
  HistogramSample,
  Labels,
  MetricsSnapshot,
  Sample,
} from './snapshot.ts'

/** Counts what happens in this process. */
export interface Meter {
  readonly observer: Observer
  /** `backlogs` holds what waits in the ledger; undefined while it cannot be read. */
  snapshot(backlogs: Backlogs | undefined): MetricsSnapshot
}

/** Read from the ledger for each scrape, so that every process reports the same. */
export interface Backlogs {
  readonly jobs: readonly Backlog[]
  readonly outbox: readonly OutboxBacklog[]
}

/** Seconds. An accept is a commit away from a millisecond; a handler may take its minute. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

const COUNTERS = {
  hookonce_received_total: 'Events recorded for the first time.',
  hookonce_duplicate_total: 'Deliveries of events that were recorded before.',
  hookonce_mismatch_total: 'Deliveries of a known event key with another body.',
  hookonce_unwanted_total: 'Deliveries of event types that no subscriber wants.',
  hookonce_handshake_total: 'Handshakes answered: challenges and confirmations, not events.',
  hookonce_rejected_total: 'Deliveries refused, by reason.',
  hookonce_unread_total: 'Deliveries recorded although they lack a key or type, by reason.',
  hookonce_shadowed_total: 'Deliveries that a source in shadow mode would have refused, by reason.',
  hookonce_processed_total: 'Attempts that completed their job.',
  hookonce_stale_total: 'Processed attempts whose event carried only outdated data.',
  hookonce_retrying_total: 'Attempts that failed and will be tried again.',
  hookonce_deferred_total:
    'Attempts that ended in "not yet": deferred by the handler, or waiting for their turn at an effect.',
  hookonce_effect_conflicts_total: 'Deferred attempts that met another job at the same effect.',
  hookonce_failed_total: 'Jobs that were given up.',
  hookonce_attention_total: 'Attempts that stopped at an effect of unknown outcome.',
  hookonce_returned_total: 'Attempts handed back by a process that drained.',
  hookonce_lost_total: 'Attempts whose outcome was refused because their lease was lost.',
  hookonce_rescued_total: 'Jobs taken back from workers that died.',
  hookonce_messages_published_total: 'Messages of the outbox that were handed over.',
  hookonce_messages_retrying_total: 'Attempts to publish that failed and will be made again.',
  hookonce_messages_failed_total: 'Messages that were given up.',
  hookonce_messages_returned_total: 'Messages handed back by a process that drained.',
  hookonce_messages_lost_total: 'Messages whose outcome was refused because the lease was lost.',
  hookonce_messages_crashed_total: 'Lanes of the outbox taken back from relays that died.',
  hookonce_trouble_total: 'Failures inside hookonce itself, such as an unreachable ledger.',
} as const

type CounterName = keyof typeof COUNTERS

const HISTOGRAMS = {
  hookonce_accept_seconds: 'From the whole body read to the answer.',
  hookonce_attempt_seconds: 'Time of one run of a handler.',
  hookonce_publish_seconds: 'Time of one attempt to publish a message.',
} as const

type HistogramName = keyof typeof HISTOGRAMS

interface Histogram extends HistogramSample {
  readonly counts: number[]
  sum: number
  count: number
}

const NO_LABELS: Labels = {}

export function meter(): Meter {
  // By the identity of the labels: the objects are made once, by `ofSource` and its like.
  const counters = remembered((_name: CounterName) => new Map<Labels, number>())
  const histograms = remembered((_name: HistogramName) => new Map<Labels, Histogram>())

  const ofSource = remembered((source: string): Labels => ({ source }))
  const ofTopic = remembered((topic: string): Labels => ({ topic }))
  const ofReason = remembered((source: string) =>
    remembered((reason: string): Labels => ({ source, reason })),
  )
  const ofSubscriber = remembered((source: string) =>
    remembered((subscriber: string): Labels => ({ source, subscriber })),
  )
  const attemptsEnded = remembered((outcome: AttemptFact['outcome']) => `hookonce_${outcome}_total` as const)

  function count(name: CounterName, labels: Labels): void {
    const samples = counters(name)
    samples.set(labels, (samples.get(labels) ?? 0) + 1)
  }

  function measure(name: HistogramName, labels: Labels, ms: number): void {
    const samples = histograms(name)
    let histogram = samples.get(labels)
    if (!histogram) {
      histogram = { labels, counts: BUCKETS.map(() => 0), sum: 0, count: 0 }
      samples.set(labels, histogram)
    }
    const seconds = ms / 1000
    const bucket = BUCKETS.findIndex((limit) => seconds <= limit)
    if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
    histogram.sum += seconds
    histogram.count += 1
  }

  const observer: Observer = {
    delivery(fact) {
      if (fact.outcome === 'rejected' || fact.outcome === 'shadowed')
        return count(`hookonce_${fact.outcome}_total`, ofReason(fact.source)(fact.code ?? ''))
      const labels = ofSource(fact.source)
      if (fact.outcome === 'handshake') return count('hookonce_handshake_total', labels)
      measure('hookonce_accept_seconds', labels, fact.durationMs)
      if (fact.code !== undefined) count('hookonce_unread_total', ofReason(fact.source)(fact.code))
      if (fact.outcome === 'recorded') return count('hookonce_received_total', labels)
      if (fact.outcome === 'mismatch') count('hookonce_mismatch_total', labels)
      if (fact.outcome === 'unwanted') return count('hookonce_unwanted_total', labels)
      count('hookonce_duplicate_total', labels)
    },
    attempt(fact) {
      const labels = ofSubscriber(fact.source)(fact.subscriber)
      measure('hookonce_attempt_seconds', labels, fact.durationMs)
      if (fact.outcome === 'stale') count('hookonce_processed_total', labels)
      if (fact.error instanceof EffectBusy) count('hookonce_effect_conflicts_total', labels)
      count(attemptsEnded(fact.outcome), labels)
    },
    rescue: () => count('hookonce_rescued_total', NO_LABELS),
    message(fact) {
      const labels = ofTopic(fact.topic)
      if (fact.outcome !== 'crashed') measure('hookonce_publish_seconds', labels, fact.durationMs)
      count(`hookonce_messages_${fact.outcome}_total`, labels)
    },
    trouble: () => count('hookonce_trouble_total', NO_LABELS),
  }

  function counterOf(name: CounterName): CounterMetric {
    const samples = Array.from(counters(name), ([labels, value]) => ({ labels, value }))
    return { name, help: COUNTERS[name], type: 'counter', samples }
  }

  function histogramOf(name: HistogramName): HistogramMetric {
    const samples = Array.from(histograms(name).values(), (histogram) => ({
      ...histogram,
      counts: [...histogram.counts],
    }))
    return { name, help: HISTOGRAMS[name], type: 'histogram', bounds: BUCKETS, samples }
  }

  return {
    observer,
    snapshot: (backlogs) => ({
      metrics: [
        ...namesOf(COUNTERS).map(counterOf),
        ...namesOf(HISTOGRAMS).map(histogramOf),
        ...gaugesOf(JOB_GAUGES, backlogs?.jobs, ({ source, subscriber }) => ({ source, subscriber })),
        ...gaugesOf(OUTBOX_GAUGES, backlogs?.outbox, ({ topic }) => ({ topic })),
        ledgerUp(backlogs !== undefined),
      ],
    }),
  }
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
  const help = 'Whether the ledger could be read for this scrape: 1, or 0.'
  const samples = [{ labels: NO_LABELS, value: isUp ? 1 : 0 }]
  return { name: 'hookonce_ledger_up', help, type: 'gauge', samples }
}

function namesOf<Name extends string>(metrics: Readonly<Record<Name, string>>): Name[] {
  return Object.keys(metrics) as Name[]
}

/** Makes a value once per key. */
function remembered<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return (key) => {
    let value = made.get(key)
    if (value === undefined) {
      value = make(key)
      made.set(key, value)
    }
    return value
  }
}
