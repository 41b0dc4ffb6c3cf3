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
      'A compressed delivery is signed as it is sent, and refused here as BODY_UNPARSABLE: leave compression off.',
      'Each attempt counts itself in the body, so a retry has another body under the same id.',
      'A retry comes within 20 minutes; a day is counted on.',
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
