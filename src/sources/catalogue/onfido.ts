import { provider } from '../provider.ts'

export const onfido = provider({
  provider: 'onfido',
  about: {
    name: 'Onfido (Entrust)',
    category: 'identity',
    confidence: 'verified',
    evidence: [
      'npm:@onfido/api@6.2.0:dist/webhook-event-verifier.js',
      'github.com/onfido/onfido-node (test of WebhookEventVerifier)',
    ],
    unverified: [
      'the name of the header',
      'the retries after 30 s, 2 and 15 minutes, 2 and 10 hours; hookonce assumes a week',
    ],
    notes: [
      'There is no id; the key is made of resource, action and date. Events without a date are distinguished by their body.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-sha2-signature', encoding: 'hex' },
  event: {
    key: [
      {
        hash: [
          'json:payload.resource_type',
          'json:payload.action',
          'json:payload.object.id',
          'json:payload.object.completed_at_iso8601',
        ],
      },
      'body-hash',
    ],
    type: 'json:payload.action',
    objectId: 'json:payload.object.id',
    occurredAt: { at: 'json:payload.object.completed_at_iso8601', unit: 'iso' },
    object: 'json:payload.object',
  },
  answerWithinSeconds: 10,
})
