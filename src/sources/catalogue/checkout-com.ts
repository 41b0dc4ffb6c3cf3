import { provider } from '../provider.ts'

export const checkoutCom = provider({
  provider: 'checkout-com',
  about: {
    name: 'Checkout.com',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://www.checkout.com/docs/workflows',
      'https://checkout.com/docs/workflows/set-up-your-webhook-receiver',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
    ],
    unverified: ['the eight retries over 42 hours; hookonce assumes a week', 'where the id of the object is'],
    notes: ['The secret is the signature key of the webhook action in the workflow.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'cko-signature', encoding: 'hex' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:data.id', 'json:data.session_id', 'json:data.payment_id'],
    occurredAt: { at: 'json:created_on', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
})
