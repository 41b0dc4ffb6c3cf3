import { provider } from '../provider.ts'

export const fireflies = provider({
  provider: 'fireflies',
  about: {
    name: 'Fireflies (Webhooks V2)',
    category: 'productivity',
    confidence: 'documented',
    evidence: [
      'https://docs.fireflies.ai/graphql-api/webhooks-v2 (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that a retry repeats the date in the body', 'the retries; hookonce assumes a week'],
    notes: [
      'Only webhooks with a signing secret are signed; others are rejected.',
      'There is no id; the key is made of event, meeting and date.',
      'For V1, whose signature has no prefix, use `custom()`.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: { hash: ['json:event', 'json:meeting_id', 'json:timestamp'] },
    type: 'json:event',
    objectId: 'json:meeting_id',
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
  },
  answerWithinSeconds: 10,
})
