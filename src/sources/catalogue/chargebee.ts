import { provider } from '../provider.ts'

export const chargebee = provider({
  provider: 'chargebee',
  about: {
    name: 'Chargebee',
    category: 'billing',
    confidence: 'documented',
    evidence: [
      'npm:chargebee@3.33.0:README.md',
      'github.com/hookdeck/webhook-skills@f8a4801:skills/chargebee-webhooks (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of about 79 hours; hookonce assumes a week', 'where the id of the object is'],
    notes: [
      'Nothing is signed. Protect the webhook with basic authentication. The secret is `user:password`.',
    ],
  },
  signature: { algorithm: 'basic' },
  event: {
    key: 'json:id',
    type: 'json:event_type',
    objectId: [
      'json:content.subscription.id',
      'json:content.invoice.id',
      'json:content.customer.id',
      'json:content.transaction.id',
    ],
    occurredAt: { at: 'json:occurred_at', unit: 's' },
    object: 'json:content',
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 20,
})
