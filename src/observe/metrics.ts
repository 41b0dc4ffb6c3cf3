import { EffectBusy } from '../model/handler-errors.ts'
import { type Backlogs, gauges } from './gauges.ts'
import type { AttemptFact, Observer } from './observer.ts'
import type {
  CounterMetric,
  Exemplar,
  HistogramMetric,
  HistogramSample,
  Labels,
  MetricsSnapshot,
} from './snapshot.ts'
import { topicLimit } from './topic-limit.ts'
import { sampledIds, type TraceContext } from './trace-context.ts'

/** Counts the facts of this process. */
export interface Meter {
  readonly observer: Observer
  /** `backlogs`: the waiting work in the ledger; undefined while it cannot be read. */
  snapshot(backlogs: Backlogs | undefined): MetricsSnapshot
}

/** Seconds. An accept takes one commit, about a millisecond; a handler may take a minute. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

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
  hookonce_effect_conflicts_total: 'Attempts deferred because another job was running the same effect.',
  hookonce_effects_spared_total: 'Effects that had happened before: they were not repeated.',
  hookonce_failed_total: 'Jobs that were given up.',
  hookonce_attention_total: 'Attempts that stopped at an effect of unknown outcome.',
  hookonce_returned_total:
    'Attempts that do not count: handed back by a process that drained, or failed while the circuit was open.',
  hookonce_circuit_opened_total: 'Circuits that this process opened.',
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

const UNLABELLED: readonly CounterName[] = ['hookonce_rescued_total', 'hookonce_trouble_total']

const HISTOGRAMS = {
  hookonce_accept_seconds: 'Time from the end of the body to the answer.',
  hookonce_attempt_seconds: 'Time of one run of a handler.',
  hookonce_processing_seconds:
    'Time from the arrival of an event, or its replay, to the end of the handler that completed its job.',
  hookonce_publish_seconds: 'Time of one attempt to publish a message.',
} as const

type HistogramName = keyof typeof HISTOGRAMS

interface Histogram extends HistogramSample {
  readonly counts: number[]
  sum: number
  count: number
  exemplars?: (Exemplar | null)[]
}

const NO_LABELS: Labels = {}

/** `traceContext` belongs to the measured work, for exemplars. Undefined: tracing is off. */
export function meter(traceContext?: () => TraceContext | undefined): Meter {
  // By identity of the label objects, which `ofSource` and similar functions create once.
  const counters = remembered((_name: CounterName) => new Map<Labels, number>())
  // Exists from the start: Prometheus cannot compute the growth of a counter that appears with its
  // first value.
  for (const name of UNLABELLED) counters(name).set(NO_LABELS, 0)
  const histograms = remembered((_name: HistogramName) => new Map<Labels, Histogram>())

  const ofSource = remembered((source: string): Labels => ({ source }))
  const ofTopic = remembered((topic: string): Labels => ({ topic }))
  const limitedTopic = topicLimit()
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
    const context = traceContext?.()
    if (context) keepExemplar(histogram, { bucket, seconds, context })
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
      if (fact.outcome === 'processed' || fact.outcome === 'stale')
        measure('hookonce_processing_seconds', labels, fact.ageMs)
      if (fact.outcome === 'stale') count('hookonce_processed_total', labels)
      if (fact.error instanceof EffectBusy) count('hookonce_effect_conflicts_total', labels)
      count(attemptsEnded(fact.outcome), labels)
    },
    circuit({ state, wasClosed, subscribers }) {
      if (state !== 'open' || !wasClosed) return
      for (const { source, subscriber } of subscribers)
        count('hookonce_circuit_opened_total', ofSubscriber(source)(subscriber))
    },
    effectEnded({ source, subscriber, outcome }) {
      if (outcome === 'recorded') count('hookonce_effects_spared_total', ofSubscriber(source)(subscriber))
    },
    rescue: () => count('hookonce_rescued_total', NO_LABELS),
    message(fact) {
      const labels = ofTopic(limitedTopic(fact.topic))
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
      ...(histogram.exemplars ? { exemplars: [...histogram.exemplars] } : {}),
    }))
    return { name, help: HISTOGRAMS[name], type: 'histogram', bounds: BUCKETS, samples }
  }

  return {
    observer,
    snapshot: (backlogs) => ({
      metrics: [
        ...namesOf(COUNTERS).map(counterOf),
        ...namesOf(HISTOGRAMS).map(histogramOf),
        ...gauges(backlogs),
      ],
    }),
  }
}

interface Measured {
  /** -1: the duration is above the last bound. */
  readonly bucket: number
  readonly seconds: number
  readonly context: TraceContext
}

/** The latest exemplar of each bucket whose trace is recorded. */
function keepExemplar(histogram: Histogram, { bucket, seconds, context }: Measured): void {
  const ids = sampledIds(context.traceparent)
  if (!ids) return
  histogram.exemplars ??= Array.from({ length: BUCKETS.length + 1 }, () => null)
  histogram.exemplars[bucket < 0 ? BUCKETS.length : bucket] = { ...ids, value: seconds, at: Date.now() }
}

function namesOf<Name extends string>(metrics: Readonly<Record<Name, string>>): Name[] {
  return Object.keys(metrics) as Name[]
}

/** Creates a value once per key. */
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
