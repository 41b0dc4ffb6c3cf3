import { provider } from '../provider.ts'

export const cashfree = provider({
  provider: 'cashfree',
  about: {
    name: 'Cashfree Payments',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:cashfree-pg@6.0.6:dist/api.js',
      'https://www.cashfree.com/docs/payments/online/webhooks/signature-verification',
    ],
    unverified: ['that type, order and payment identify an event', 'the retries; hookonce assumes a week'],
    notes: [
      'The secret is the client secret key.',
      'The SDK does not check the date. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-webhook-signature',
    encoding: 'base64',
    content: '{timestamp}{body}',
  },
  timestamp: { at: 'header:x-webhook-timestamp', unit: 'ms' },
  event: {
    key: [
      { hash: ['json:type', 'json:data.order.order_id', 'json:data.payment.cf_payment_id'] },
      'header:x-idempotency-key',
      'body-hash',
    ],
    type: 'json:type',
    objectId: ['json:data.order.order_id', 'json:data.payment.cf_payment_id'],
    occurredAt: { at: 'json:event_time', unit: 'iso' },
    object: 'json:data',
  },
  acceptedStatus: 200,
})
