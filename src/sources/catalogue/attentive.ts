import { provider } from '../provider.ts'

export const attentive = provider({
  provider: 'attentive',
  about: {
    name: 'Attentive',
    category: 'marketing',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where the object is'],
    notes: [
      'There is no id: two equal bodies count as one event.',
      'It retries for 3 days; hookonce assumes a week.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-attentive-hmac-sha256', encoding: 'hex' },
  event: {
    key: 'body-hash',
    type: 'json:type',
    objectId: 'json:subscriber.external_id',
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
  },
  retryWindowHours: 7 * 24,
})
