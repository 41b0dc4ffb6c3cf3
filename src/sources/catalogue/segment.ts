import { provider } from '../provider.ts'

export const segment = provider({
  provider: 'segment',
  about: {
    name: 'Segment (Webhooks destination)',
    category: 'data',
    confidence: 'verified',
    evidence: [
      'github.com/segmentio/segment-docs:src/connections/destinations/catalog/webhooks/index.md',
      'github.com/segmentio/segment-docs:src/connections/destinations/catalog/actions-webhook/index.md',
    ],
    notes: [
      'Keep batching off in the Actions destination: of a batch only the first event is signed, and it is refused.',
      'The type is `track`, `identify`, …; the name of a tracked event is in the payload.',
      'Retries go on for 4 hours.',
    ],
  },
  signature: { algorithm: 'hmac-sha1', header: 'x-signature', encoding: 'hex' },
  event: {
    key: 'json:messageId',
    type: 'json:type',
    objectId: ['json:userId', 'json:anonymousId'],
    occurredAt: { at: ['json:timestamp', 'json:originalTimestamp'], unit: 'iso' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 5,
})
