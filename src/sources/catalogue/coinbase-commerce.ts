import { provider } from '../provider.ts'

export const coinbaseCommerce = provider({
  provider: 'coinbase-commerce',
  about: {
    name: 'Coinbase Commerce',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:coinbase-commerce-node@1.0.4:lib/Webhook.js',
      'github.com/coinbase/coinbase-commerce-node:test/testWebhook.spec.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of three days; hookonce assumes a week'],
    notes: ['The outer `id` identifies the delivery. The key is the id of the event inside.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-cc-webhook-signature', encoding: 'hex' },
  event: {
    key: 'json:event.id',
    type: 'json:event.type',
    objectId: ['json:event.data.id', 'json:event.data.code'],
    occurredAt: { at: 'json:event.created_at', unit: 'iso' },
    object: 'json:event.data',
  },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})
