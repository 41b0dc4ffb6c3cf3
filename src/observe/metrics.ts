import type { Backlog } from '../ledger/read/jobs.ts'
import type { OutboxBacklog } from '../ledger/read/outbox.ts'
import { EffectBusy } from '../model/handler-errors.ts'
import type { AttemptFact, Observer } from './observer.ts'

/** Counters and histograms of this process, in the text format of Prometheus. */
export interface Metrics {
  readonly observer: Observer
  /** `backlogs` is what waits in the ledger; undefined: it cannot be read now. */
  render(backlogs: Backlogs | undefined): string
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
type Labels = Readonly<Record<string, string>>

interface Histogram {
  readonly labels: string
  readonly counts: number[]
  sum: number
  count: number
}

export function metrics(): Metrics {
  const counters = remembered((_name: string) => new Map<string, number>())
  const accepts = new Map<string, Histogram>()
  const attempts = new Map<string, Histogram>()
  const publishes = new Map<string, Histogram>()

  // Events come by the thousand, names and labels by the dozen: their texts are made once.
  const ofSource = remembered((source: string) => labelText({ source }))
  const ofTopic = remembered((topic: string) => labelText({ topic }))
  const ofReason = remembered((source: string) =>
    remembered((reason: string) => labelText({ source, reason })),
  )
  const ofSubscriber = remembered((source: string) =>
    remembered((subscriber: string) => labelText({ source, subscriber })),
  )
  const attemptsEnded = remembered((outcome: AttemptFact['outcome']) => `hookonce_${outcome}_total` as const)

  function count(name: CounterName, labels: string): void {
    const samples = counters(name)
    samples.set(labels, (samples.get(labels) ?? 0) + 1)
  }

  const observer: Observer = {
    delivery(fact) {
      if (fact.outcome === 'rejected' || fact.outcome === 'shadowed')
        return count(`hookonce_${fact.outcome}_total`, ofReason(fact.source)(fact.code ?? ''))
      const labels = ofSource(fact.source)
      if (fact.outcome === 'handshake') return count('hookonce_handshake_total', labels)
      observe(accepts, labels, fact.durationMs)
      if (fact.code !== undefined) count('hookonce_unread_total', ofReason(fact.source)(fact.code))
      if (fact.outcome === 'recorded') return count('hookonce_received_total', labels)
      if (fact.outcome === 'mismatch') count('hookonce_mismatch_total', labels)
      if (fact.outcome === 'unwanted') return count('hookonce_unwanted_total', labels)
      count('hookonce_duplicate_total', labels)
    },
    attempt(fact) {
      const labels = ofSubscriber(fact.source)(fact.subscriber)
      observe(attempts, labels, fact.durationMs)
      if (fact.outcome === 'stale') count('hookonce_processed_total', labels)
      if (fact.error instanceof EffectBusy) count('hookonce_effect_conflicts_total', labels)
      count(attemptsEnded(fact.outcome), labels)
    },
    rescue: () => count('hookonce_rescued_total', ''),
    message(fact) {
      const labels = ofTopic(fact.topic)
      if (fact.outcome !== 'crashed') observe(publishes, labels, fact.durationMs)
      count(`hookonce_messages_${fact.outcome}_total`, labels)
    },
    trouble: () => count('hookonce_trouble_total', ''),
  }

  return {
    observer,
    render: (backlogs) => {
      const { jobs: backlog, outbox } = backlogs ?? { jobs: [], outbox: [] }
      return [
        ...Object.entries(COUNTERS).flatMap(([name, help]) => [
          `# HELP ${name} ${help}`,
          `# TYPE ${name} counter`,
          ...[...counters(name)].map(([labels, value]) => `${name}{${labels}} ${value}`),
        ]),
        ...histogramLines('hookonce_accept_seconds', 'From the whole body read to the answer.', accepts),
        ...histogramLines('hookonce_attempt_seconds', 'Time of one run of a handler.', attempts),
        ...histogramLines('hookonce_publish_seconds', 'Time of one attempt to publish a message.', publishes),
        ...gaugeLines(
          'hookonce_processing_lag_seconds',
          'Age of the oldest job that is due.',
          backlog,
          (b) => b.lagSeconds,
        ),
        ...gaugeLines(
          'hookonce_jobs_waiting',
          'Jobs received and not yet started.',
          backlog,
          (b) => b.waiting,
        ),
        ...gaugeLines(
          'hookonce_jobs_retrying',
          'Jobs that wait for their next attempt.',
          backlog,
          (b) => b.retrying,
        ),
        ...gaugeLines(
          'hookonce_jobs_unattended',
          'Jobs that wait for a subscriber that no running worker serves.',
          backlog,
          (b) => b.unattended,
        ),
        ...gaugeLines(
          'hookonce_jobs_failed',
          'Jobs that were given up and wait for a replay.',
          backlog,
          (b) => b.failed,
        ),
        ...gaugeLines(
          'hookonce_jobs_attention',
          'Jobs that wait for an operator to decide on an effect.',
          backlog,
          (b) => b.attention,
        ),
        ...gaugeLines(
          'hookonce_effects_unknown',
          'Effects whose outcome is unknown.',
          backlog,
          (b) => b.effectsUnknown,
        ),
        ...gaugeLines(
          'hookonce_outbox_lag_seconds',
          'Age of the oldest message that waits.',
          outbox,
          (o) => o.lagSeconds,
        ),
        ...gaugeLines('hookonce_outbox_waiting', 'Messages not yet published.', outbox, (o) => o.waiting),
        ...gaugeLines(
          'hookonce_outbox_failed',
          'Messages that were given up and wait for a replay.',
          outbox,
          (o) => o.failed,
        ),
        '# HELP hookonce_ledger_up Whether the ledger could be read for this scrape: 1, or 0.',
        '# TYPE hookonce_ledger_up gauge',
        `hookonce_ledger_up ${backlogs ? 1 : 0}`,
        '',
      ].join('\n')
    },
  }
}

/** What was made for a key, made once. */
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

function observe(histograms: Map<string, Histogram>, labels: string, ms: number): void {
  let histogram = histograms.get(labels)
  if (!histogram) {
    histogram = { labels, counts: BUCKETS.map(() => 0), sum: 0, count: 0 }
    histograms.set(labels, histogram)
  }
  const seconds = ms / 1000
  const bucket = BUCKETS.findIndex((limit) => seconds <= limit)
  if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1
  histogram.sum += seconds
  histogram.count += 1
}

function histogramLines(name: string, help: string, histograms: ReadonlyMap<string, Histogram>): string[] {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
  for (const { labels, counts, sum, count } of histograms.values()) {
    let below = 0
    BUCKETS.forEach((limit, index) => {
      below += counts[index] ?? 0
      lines.push(`${name}_bucket{${labels},le="${limit}"} ${below}`)
    })
    lines.push(
      `${name}_bucket{${labels},le="+Inf"} ${count}`,
      `${name}_sum{${labels}} ${sum}`,
      `${name}_count{${labels}} ${count}`,
    )
  }
  return lines
}

function gaugeLines<Row extends Backlog | OutboxBacklog>(
  name: string,
  help: string,
  backlog: readonly Row[],
  of: (row: Row) => number,
): string[] {
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`]
  return [...head, ...backlog.map((row) => `${name}{${labelText(labelsOf(row))}} ${of(row)}`)]
}

function labelsOf(row: Backlog | OutboxBacklog): Labels {
  return 'topic' in row ? { topic: row.topic } : { source: row.source, subscriber: row.subscriber }
}

function labelText(labels: Labels): string {
  let text = ''
  for (const name in labels) text += `${text === '' ? '' : ','}${name}="${escaped(labels[name] ?? '')}"`
  return text
}

function escaped(value: string): string {
  if (!/[\\"\n]/.test(value)) return value
  return value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))
}
