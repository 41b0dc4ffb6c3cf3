import { provider } from '../provider.ts'

export const alchemy = provider({
  provider: 'alchemy',
  about: {
    name: 'Alchemy Notify',
    category: 'web3',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where id and date are'],
    notes: [
      'The secret is the signing key of the webhook.',
      'It retries for 10 minutes, or an hour for enterprise accounts; hookonce assumes a day.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-alchemy-signature', encoding: 'hex' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: 'json:webhookId',
    occurredAt: { at: 'json:createdAt', unit: 'iso' },
  },
  retryWindowHours: 24,
})
