import { provider } from '../provider.ts'

export const paddle = provider({
  provider: 'paddle',
  about: {
    name: 'Paddle Billing',
    category: 'billing',
    confidence: 'verified',
    evidence: [
      'npm:@paddle/paddle-node-sdk@3.10.0:dist/esm/notifications/helpers/webhooks-validator.js',
      'https://developer.paddle.com/webhooks/about/respond-to-webhooks',
    ],
    notes: [
      'The tolerance is 5 seconds, as in the SDK. Keep the clock accurate, or raise `toleranceSeconds`.',
      'The key is `event_id`, because `notification_id` differs for each destination.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'paddle-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ';', fieldSeparator: '=', signatureField: 'h1' },
    content: '{timestamp}:{body}',
  },
  timestamp: { at: 'field:ts', unit: 's', toleranceSeconds: 5 },
  event: {
    key: 'json:event_id',
    type: 'json:event_type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:occurred_at', unit: 'iso' },
    version: { at: 'json:occurred_at', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 72,
  answerWithinSeconds: 5,
})
