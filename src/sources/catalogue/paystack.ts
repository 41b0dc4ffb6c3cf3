import { provider } from '../provider.ts'

const OBJECT = [
  'json:data.id',
  'json:data.reference',
  'json:data.transfer_code',
  'json:data.subscription_code',
] as const

export const paystack = provider({
  provider: 'paystack',
  about: {
    name: 'Paystack',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'github.com/PaystackOSS/doc-code-snippets:dist/doc/payments/webhooks/verifying-transaction.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the secret key of the account, `sk_…`.',
      'No event id is sent; the key is made of the event and its object, so the same event of one object is recorded once. If the object has no id, equal bodies count as one event.',
      'The sample code in the documentation signs the body after serialising it again; hookonce verifies the bytes as received.',
    ],
  },
  signature: { algorithm: 'hmac-sha512', header: 'x-paystack-signature', encoding: 'hex' },
  event: {
    key: [{ hash: ['json:event', [...OBJECT]] }, 'body-hash'],
    type: 'json:event',
    objectId: [...OBJECT],
    occurredAt: { at: ['json:data.paid_at', 'json:data.created_at', 'json:data.createdAt'], unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 72,
  answerWithinSeconds: 30,
  acceptedStatus: 200,
})
