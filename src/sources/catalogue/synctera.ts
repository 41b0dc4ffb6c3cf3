import { provider } from '../provider.ts'

export const synctera = provider({
  provider: 'synctera',
  about: {
    name: 'Synctera',
    category: 'fintech',
    confidence: 'documented',
    evidence: [
      'https://docs.synctera.com/docs/webhooks-guide (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'where the id of the event is: the key is the body',
      'that a retry repeats the body, and is signed again: an old date is rejected',
    ],
    notes: [
      'The secret is made with `POST /v0/webhook_secrets`. During a rotation both secrets sign.',
      'Retries end after 55 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'synctera-signature',
    encoding: 'hex',
    format: { kind: 'values', separator: '.' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'header:request-timestamp', unit: 's' },
  event: { key: 'body-hash', type: 'json:type' },
  retryWindowHours: 4 * 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
