import { provider } from '../provider.ts'

export const aircall = provider({
  provider: 'aircall',
  about: {
    name: 'Aircall',
    category: 'communication',
    confidence: 'documented',
    evidence: [
      'https://developer.aircall.io/docs/webhooks-overview (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that a retry repeats the body'],
    notes: [
      'Nothing is signed. The secret is the `token` of the webhook, which is sent inside the body and recorded with it.',
      'There is no id; the key is the body, which contains event, object and date.',
      'Fifty retries within 12 hours, then the webhook is disabled.',
    ],
  },
  signature: { algorithm: 'token', at: 'json:token' },
  event: {
    key: 'body-hash',
    type: 'json:event',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 's' },
    object: 'json:data',
  },
  retryWindowHours: 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
