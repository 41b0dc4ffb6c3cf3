import type { AttemptFact, CustomObserver, DeliveryFact, MessageFact } from '../observer.ts'
import { topicLimit } from '../topic-limit.ts'
import type { Api } from './load-api.ts'
import { errorType, type NameConvention, operation } from './names.ts'

/** Seconds: the boundaries that the semantic conventions recommend for durations. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

type Instruments = Required<Pick<CustomObserver, 'delivery' | 'attempt' | 'message'>>

/**
 * Durations and counts for SDKs that accept metrics. Attributes are names of the configuration,
 * outcomes and codes: never an id.
 */
export function instruments(api: Api, names: NameConvention): Instruments {
  const meter = api.metrics.getMeter('hookonce')
  const isNamed = names === 'messaging'
  const seconds = (name: string, description: string) =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: BOUNDARIES },
    })
  const deliveries = meter.createCounter('hookonce.deliveries', {
    description: 'Deliveries that were answered.',
    unit: '{delivery}',
  })
  const accepts = seconds('hookonce.accept.duration', 'Time from the end of the body to the answer.')
  const attempts = seconds(
    isNamed ? 'messaging.process.duration' : 'hookonce.attempt.duration',
    'Time of one run of a handler.',
  )
  const processing = seconds(
    'hookonce.processing.duration',
    'Time from the arrival of an event to the end of the handler that completed its job.',
  )
  const publishing = seconds(
    isNamed ? 'messaging.client.operation.duration' : 'hookonce.publish.duration',
    'Time of one attempt to publish a message.',
  )
  const limitedTopic = topicLimit()

  return {
    delivery({ source, outcome, code, durationMs }: DeliveryFact) {
      const attributes = { 'hookonce.source': source, 'hookonce.outcome': outcome }
      deliveries.add(1, code === undefined ? attributes : { ...attributes, 'error.type': code })
      if (outcome === 'rejected' || outcome === 'shadowed' || outcome === 'handshake') return
      accepts.record(durationMs / 1000, attributes)
    },
    attempt(fact: AttemptFact) {
      const { source, subscriber, outcome, durationMs, ageMs } = fact
      const attributes = {
        'hookonce.source': source,
        'hookonce.subscriber': subscriber,
        'hookonce.outcome': outcome,
      }
      const failure = 'error' in fact ? { 'error.type': boundedType(fact.error) } : {}
      attempts.record(durationMs / 1000, {
        ...attributes,
        ...(isNamed ? { ...operation('process', 'process', source), ...failure } : {}),
      })
      if (outcome === 'processed' || outcome === 'stale') processing.record(ageMs / 1000, attributes)
    },
    message(fact: MessageFact) {
      if (fact.outcome === 'crashed') return
      const topic = limitedTopic(fact.topic)
      const failure = 'error' in fact ? { 'error.type': boundedType(fact.error) } : {}
      publishing.record(fact.durationMs / 1000, {
        'hookonce.topic': topic,
        'hookonce.outcome': fact.outcome,
        ...(isNamed ? { ...operation('publish', 'send', topic), ...failure } : {}),
      })
    },
  }
}

/** Handlers may give their errors any name. */
function boundedType(error: unknown): string {
  const type = errorType(error)
  return /^[A-Z_]+$/.test(type) ? type : '_OTHER'
}
