import { provider } from '../provider.ts'

export const razorpay = provider({
  provider: 'razorpay',
  about: {
    name: 'Razorpay',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:razorpay@2.9.8:dist/utils/razorpay-utils.js',
      'github.com/razorpay/razorpay-node:test/utils/razorpay-utils.spec.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of 24 hours; hookonce assumes two days'],
    notes: [
      'The secret is that of the webhook, not the API key.',
      'The signature covers the body only: the event id is a header, which TLS protects but the secret does not.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-razorpay-signature', encoding: 'hex' },
  event: {
    key: 'header:x-razorpay-event-id',
    type: 'json:event',
    // The most specific object first: a refund is sent with its payment, a payment with its order.
    objectId: [
      'json:payload.refund.entity.id',
      'json:payload.subscription.entity.id',
      'json:payload.payment.entity.id',
      'json:payload.order.entity.id',
    ],
    occurredAt: { at: 'json:created_at', unit: 's' },
    object: 'json:payload',
  },
  retryWindowHours: 48,
  answerWithinSeconds: 5,
})
