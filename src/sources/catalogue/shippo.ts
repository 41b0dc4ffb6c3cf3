import { provider } from '../provider.ts'

export const shippo = provider({
  provider: 'shippo',
  about: {
    name: 'Shippo',
    category: 'shipping',
    confidence: 'uncertain',
    evidence: ['npm:shippo@2.18.0 (no verification helper present)'],
    unverified: ['every field', 'the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Register the URL with `?token=…`; the token is the secret.',
      'Signatures (`Shippo-Auth-Signature`) are for those who ask Shippo for them, and not covered.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: {
    key: [
      {
        hash: [
          'json:event',
          ['json:data.object_id', 'json:data.tracking_number'],
          'json:data.tracking_status.object_id',
        ],
      },
      'body-hash',
    ],
    type: 'json:event',
    objectId: ['json:data.object_id', 'json:data.tracking_number'],
    occurredAt: { at: 'json:data.tracking_status.status_date', unit: 'iso' },
    object: 'json:data',
  },
  answerWithinSeconds: 3,
})
