import { provider } from '../provider.ts'

export const nylas = provider({
  provider: 'nylas',
  about: {
    name: 'Nylas v3',
    category: 'email',
    confidence: 'documented',
    evidence: [
      'npm:nylas@8.4.0:lib/esm/resources/webhooks.js',
      'npm:nylas@8.4.0:lib/types/models/webhooks.d.ts',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the unit of `time`'],
    notes: [
      'A compressed delivery is signed in its compressed form and rejected with BODY_UNPARSABLE: keep compression disabled.',
      'Each body contains its attempt number, so a retry has a different body under the same id.',
      'A retry comes within 20 minutes; hookonce assumes a day.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-nylas-signature', encoding: 'hex' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:data.object.id', 'json:data.grant_id'],
    occurredAt: { at: 'json:time', unit: 's' },
    object: 'json:data.object',
  },
  handshake: [
    { method: 'GET', when: { 'query:challenge': true }, signed: false, reply: { text: '{query:challenge}' } },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 10,
  acceptedStatus: 200,
})
