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
      'Keep batching disabled in the Actions destination: only the first event of a batch is signed, so batches are rejected.',
      'The type is `track`, `identify`, …; the name of a tracked event is in the payload.',
      'It retries for 4 hours.',
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
