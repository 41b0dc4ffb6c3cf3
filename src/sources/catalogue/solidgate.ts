import { provider } from '../provider.ts'

export const solidgate = provider({
  provider: 'solidgate',
  about: {
    name: 'Solidgate',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://docs.solidgate.com/payments/integrate/webhooks/ (cited by a secondary source)',
      'npm:@solidgate/node-sdk@1.4.1:src/api.js (the same signature, of API requests)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the id of the object'],
    notes: [
      'The secret is the secret key of the webhook, `wh_sk_…`, not that of the API.',
      'Eight retries over 56 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha512',
    header: 'signature',
    encoding: 'base64-hex',
    content: '{setting:publicKey}{body}{setting:publicKey}',
  },
  settings: { publicKey: 'the public key of the webhook, `wh_pk_…`' },
  event: {
    key: 'header:solidgate-event-id',
    type: 'header:solidgate-event-type',
    objectId: ['json:order.order_id', 'json:subscription.id'],
    occurredAt: { at: 'header:solidgate-event-created-at', unit: 'iso' },
  },
  retryWindowHours: 4 * 24,
  answerWithinSeconds: 30,
})
