import { provider } from '../provider.ts'

export const gocardless = provider({
  provider: 'gocardless',
  about: {
    name: 'GoCardless',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:gocardless-nodejs@10.1.2:esm/webhooks.js',
      'github.com/gocardless/gocardless-nodejs:src/webhooks.test.ts',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'the eight retries; hookonce assumes a week',
      'the size of batches',
      'that a bad signature should get 498: hookonce answers 401',
    ],
    notes: [
      'A batch that is not acknowledged is sent again as a whole. Events that are already recorded stay recorded once.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'webhook-signature', encoding: 'hex' },
  batch: 'json:events[]',
  event: {
    key: 'item:id',
    type: { join: ['item:resource_type', 'item:action'], separator: '.' },
    // The most specific object first: a refund is sent with its payment, a payment with its
    // mandate.
    objectId: [
      'item:links.refund',
      'item:links.payment',
      'item:links.payout',
      'item:links.subscription',
      'item:links.mandate',
    ],
    occurredAt: { at: 'item:created_at', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 10,
})
