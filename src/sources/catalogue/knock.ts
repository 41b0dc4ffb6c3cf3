import { provider } from '../provider.ts'

export const knock = provider({
  provider: 'knock',
  about: {
    name: 'Knock',
    category: 'notifications',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where the date is', 'how long the 8 attempts take; hookonce assumes a week'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-knock-signature',
    encoding: 'base64',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 's' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 'ms' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
})
