import { provider } from '../provider.ts'

export const tally = provider({
  provider: 'tally',
  about: {
    name: 'Tally',
    category: 'forms',
    confidence: 'documented',
    evidence: [
      'https://tally.so/help/webhooks',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'Only webhooks with a signing secret are signed; others are rejected.',
      'Five retries over 32 hours.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'tally-signature', encoding: 'base64' },
  event: {
    key: 'json:eventId',
    type: 'json:eventType',
    objectId: ['json:data.submissionId', 'json:data.responseId'],
    occurredAt: { at: 'json:createdAt', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 3 * 24,
  answerWithinSeconds: 10,
})
