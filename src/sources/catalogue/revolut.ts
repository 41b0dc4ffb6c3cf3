import { provider } from '../provider.ts'

export const revolut = provider({
  provider: 'revolut',
  about: {
    name: 'Revolut (Merchant/Business)',
    category: 'fintech',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where object and date are'],
    notes: [
      'The whole `wsk_…` text is the key.',
      'There is no id: event, order and, where there is one, date make one.',
      'Three retries, 10 minutes apart; a day is counted on.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'revolut-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: 'v1.{timestamp}.{body}',
  },
  timestamp: { at: 'header:revolut-request-timestamp', unit: 'ms' },
  event: {
    key: { hash: ['json:event', ['json:order_id', 'json:data.id']], optional: ['json:timestamp'] },
    type: 'json:event',
    objectId: ['json:order_id', 'json:data.id'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  retryWindowHours: 24,
})
