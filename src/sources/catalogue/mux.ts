import { provider } from '../provider.ts'

export const mux = provider({
  provider: 'mux',
  about: {
    name: 'Mux',
    category: 'media',
    confidence: 'verified',
    evidence: [
      'npm:@mux/mux-node@15.3.0:resources/webhooks/webhooks.js',
      'npm:@mux/mux-node@15.3.0:resources/webhooks/webhooks.d.ts',
    ],
    unverified: ['retries for 24 hours; hookonce assumes a week', 'the time limit for an answer'],
    notes: ['`attempts` in the body grows with each retry, so retries of an event have different bodies.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'mux-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:object.id', 'json:data.id'],
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
  answerWithinSeconds: 5,
})
