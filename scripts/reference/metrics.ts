import { EffectBusy } from '../../src/model/handler-errors.ts'
import { mergeLedgers } from '../../src/observe/merge-ledgers.ts'
import { meter } from '../../src/observe/metrics.ts'
import type { AttemptFact, DeliveryFact, MessageFact } from '../../src/observe/observer.ts'
import type { Metric } from '../../src/observe/snapshot.ts'
import { code, markdownTable } from './markdown.ts'

/** The table of one kind of metrics. */
export function metricTable(type: Metric['type']): string {
  const rows = sampledMetrics()
    .filter((metric) => metric.type === type)
    .map((metric) => [code(metric.name), labelsOf(metric), metric.help])
  return markdownTable(['name', 'labels', 'meaning'], rows)
}

function labelsOf({ name, samples }: Metric): string {
  const [sample] = samples
  if (!sample) throw new Error(`no fact below leads to ${name}: report one, so that its labels are known`)
  return Object.keys(sample.labels).map(code).join(', ')
}

/** Every metric with a sample: the labels are those that the meter really uses. */
function sampledMetrics(): readonly Metric[] {
  const { observer, snapshot } = meter()
  for (const fact of deliveries) observer.delivery(fact)
  for (const fact of attempts) observer.attempt(fact)
  for (const fact of messages) observer.message?.(fact)
  const place = { source: 'source', subscriber: 'subscriber' }
  observer.circuit?.({ limiter: 'limiter', state: 'open', wasClosed: true, subscribers: [place] })
  observer.effectEnded?.({ ...attempt, key: 'key', mode: 'keyed', outcome: 'recorded' })
  const found = snapshot({
    jobs: [{ ...place, ...NO_JOBS }],
    outbox: [{ topic: 'topic', waiting: 0, failed: 0, lagSeconds: 0 }],
    circuits: [{ ...place, isOpen: false }],
  })
  // A process with several ledgers names them in a label.
  return mergeLedgers([{ ledger: 'ledger', snapshot: found }]).metrics
}

const NO_JOBS = {
  waiting: 0,
  retrying: 0,
  stranded: 0,
  failed: 0,
  attention: 0,
  effectsUnknown: 0,
  lagSeconds: 0,
  unattended: 0,
}

const delivery: DeliveryFact = { source: 'source', outcome: 'recorded', status: 202, durationMs: 1 }
const deliveries: readonly DeliveryFact[] = [
  { ...delivery, code: 'EVENT_KEY_MISSING' },
  ...(['mismatch', 'unwanted', 'handshake'] as const).map((outcome) => ({ ...delivery, outcome })),
  ...(['rejected', 'shadowed'] as const).map((outcome) => ({
    ...delivery,
    outcome,
    code: 'SIGNATURE_MISMATCH' as const,
  })),
]

const attempt = {
  source: 'source',
  subscriber: 'subscriber',
  receiptId: '00000000-0000-0000-0000-000000000001',
  attempt: 1,
  durationMs: 1,
  ageMs: 1,
}
const attempts: readonly AttemptFact[] = [
  ...(['processed', 'stale', 'retrying', 'failed', 'attention', 'returned', 'lost'] as const).map(
    (outcome) => ({ ...attempt, outcome }),
  ),
  { ...attempt, outcome: 'deferred', error: new EffectBusy(1, 'busy') },
]

const messages = (['published', 'retrying', 'failed', 'returned', 'lost', 'crashed'] as const).map(
  (outcome): MessageFact => ({
    messageId: 'id',
    topic: 'topic',
    key: null,
    attempt: 1,
    outcome,
    durationMs: 1,
  }),
)
