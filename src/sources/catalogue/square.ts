import { provider } from '../provider.ts'

export const square = provider({
  provider: 'square',
  about: {
    name: 'Square',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:square@46.0.0:wrapper/WebhooksHelper.js',
      'https://developer.squareup.com/docs/webhooks-overview',
      'https://developer.squareup.com/docs/webhooks/troubleshooting',
    ],
    unverified: ['the number of retries'],
    notes: ['It retries for 24 hours, and earlier for 72 hours; hookonce assumes the longer time.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-square-hmacsha256-signature',
    encoding: 'base64',
    content: '{url}{body}',
  },
  event: {
    key: 'json:event_id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data.object',
  },
  retryWindowHours: 72,
  answerWithinSeconds: 10,
})
