import { provider } from '../provider.ts'

export const linear = provider({
  provider: 'linear',
  about: {
    name: 'Linear',
    category: 'project-management',
    confidence: 'verified',
    evidence: [
      'npm:@linear/sdk@98.0.0:dist/webhooks-BtY8wrj8.mjs',
      'https://developers.linear.app/docs/graphql/webhooks',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that Linear-Delivery stays the same when the delivery is sent again'],
    notes: [
      'The date is in the signed body; the header `Linear-Timestamp` is not signed and is ignored.',
      'Three retries, the last after 6 hours; the tolerance of one minute is that of the SDK.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'linear-signature', encoding: 'hex' },
  timestamp: { at: 'json:webhookTimestamp', unit: 'ms', toleranceSeconds: 60 },
  event: {
    key: 'header:linear-delivery',
    type: { join: ['json:type', 'json:action'], separator: '.' },
    objectId: 'json:data.id',
    occurredAt: { at: ['json:createdAt', 'json:webhookTimestamp'], unit: 'ms' },
    object: 'json:data',
  },
  retryWindowHours: 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
