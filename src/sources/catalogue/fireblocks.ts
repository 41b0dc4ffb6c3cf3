import { provider } from '../provider.ts'

export const fireblocks = provider({
  provider: 'fireblocks',
  about: {
    name: 'Fireblocks',
    category: 'fintech',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where id and date are'],
    notes: [
      'The secret is the public key of your environment (US, EU, sandbox).',
      'The second header, Fireblocks-Webhook-Signature with fetched keys, is not read.',
      'It retries for 8 hours, and only after 5xx, 429 or 408; hookonce assumes a day.',
    ],
  },
  signature: { algorithm: 'rsa-sha512', header: 'fireblocks-signature', encoding: 'base64' },
  event: {
    key: ['json:id', 'body-hash'],
    type: ['json:eventType', 'json:type'],
    objectId: ['json:data.id', 'json:resourceId'],
    occurredAt: { at: ['json:createdAt', 'json:timestamp'], unit: 'ms' },
    object: 'json:data',
  },
  retryWindowHours: 24,
  acceptedStatus: 200,
})
