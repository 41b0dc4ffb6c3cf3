import { provider } from '../provider.ts'

export const xero = provider({
  provider: 'xero',
  about: {
    name: 'Xero',
    category: 'accounting',
    confidence: 'documented',
    evidence: [
      'https://developer.xero.com/documentation/guides/webhooks/configuring-your-server/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of 24 hours; hookonce assumes two days'],
    notes: [
      'The secret is the webhooks key of the app.',
      'To check the URL, Xero sends right and wrong signatures without events and expects 200 and 401. hookonce answers accordingly.',
      'Events have no id; the key is made of tenant, resource, kind and date.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-xero-signature', encoding: 'base64' },
  batch: 'json:events[]',
  emptyBatch: 'acknowledge',
  event: {
    key: { hash: ['item:tenantId', 'item:resourceId', 'item:eventType', 'item:eventDateUtc'] },
    type: { join: ['item:eventCategory', 'item:eventType'], separator: '.' },
    objectId: 'item:resourceId',
    occurredAt: { at: 'item:eventDateUtc', unit: 'iso' },
  },
  retryWindowHours: 48,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
  acceptedBody: '',
})
