import { provider } from '../provider.ts'

export const shopline = provider({
  provider: 'shopline',
  about: {
    name: 'SHOPLINE',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://developer.shopline.com/docs/apps/api-instructions-for-use/webhooks/overview/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary; the encoding was seen on a delivery)',
    ],
    unverified: ['the id of the object'],
    notes: [
      'The secret is the app secret.',
      'The documents show the signature in base64. Deliveries contain it in hex.',
      'Nineteen retries over 48 hours, then the subscription is removed.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-shopline-hmac-sha256', encoding: 'hex' },
  event: {
    key: 'header:x-shopline-webhook-id',
    type: 'header:x-shopline-topic',
    objectId: 'json:id',
  },
  retryWindowHours: 3 * 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
