import { provider } from '../provider.ts'

export const line = provider({
  provider: 'line',
  about: {
    name: 'LINE Messaging API',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'npm:@line/bot-sdk@11.0.0:dist/validate-signature.js',
      'github.com/line/line-bot-sdk-nodejs:lib/webhook/model/event.ts',
    ],
    unverified: [
      'how long it redelivers; hookonce assumes a week',
      'that the URL check is a batch without events',
    ],
    notes: [
      'The secret is the channel secret.',
      'Enable redelivery in the console. `deliveryContext.isRedelivery` marks a redelivery; the id stays the same.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-line-signature', encoding: 'base64' },
  batch: 'json:events[]',
  emptyBatch: 'acknowledge',
  event: {
    key: 'item:webhookEventId',
    type: 'item:type',
    objectId: ['item:message.id', 'item:source.userId'],
    occurredAt: { at: 'item:timestamp', unit: 'ms' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 2,
  acceptedStatus: 200,
})
