import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const dodopayments = provider({
  provider: 'dodopayments',
  about: {
    name: 'Dodo Payments',
    category: 'payments',
    confidence: 'verified',
    evidence: ['npm:dodopayments@2.52.0:resources/webhooks/webhooks.mjs'],
    unverified: ['which field names the object', 'where the date of the event is'],
    notes: ['How long it retries is not documented; hookonce assumes a week.'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    // A refund or a dispute is sent with its payment, and a payment with its subscription.
    objectId: [
      'json:data.refund_id',
      'json:data.dispute_id',
      'json:data.payment_id',
      'json:data.subscription_id',
    ],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
})
