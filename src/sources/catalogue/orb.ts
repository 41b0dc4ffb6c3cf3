import { provider } from '../provider.ts'

export const orb = provider({
  provider: 'orb',
  about: {
    name: 'Orb',
    category: 'billing',
    confidence: 'verified',
    evidence: [
      'npm:orb-billing@6.11.0:resources/webhooks.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['where the object is', 'the retries; hookonce assumes a week'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-orb-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ' ', fieldSeparator: '=', signatureField: 'v1' },
    content: 'v1:{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-orb-timestamp', unit: 'iso' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:subscription.id', 'json:invoice.id', 'json:customer.id'],
    occurredAt: { at: 'json:created_at', unit: 'iso' },
  },
})
