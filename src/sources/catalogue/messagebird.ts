import { provider } from '../provider.ts'

export const messagebird = provider({
  provider: 'messagebird',
  about: {
    name: 'MessageBird / Bird (legacy REST)',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'npm:messagebird@4.0.1:lib/webhook-signature-jwt.js',
      'npm:messagebird@4.0.1:lib/testdata/webhook-signature-jwt-reference.json',
    ],
    unverified: ['where type, object and date are', 'the retries; hookonce assumes a week'],
    notes: [
      'The URL is signed with its query, as it was registered.',
      'The clock must be accurate to 5 s, as in the SDK. `toleranceSeconds` widens this.',
      'Callbacks without a body (GET) are not accepted.',
    ],
  },
  signature: {
    algorithm: 'jwt',
    header: 'messagebird-signature-jwt',
    algorithms: ['HS256', 'HS384', 'HS512'],
    issuer: 'MessageBird',
    bodyHash: { claim: 'payload_hash', encoding: 'hex' },
    urlHash: { claim: 'url_hash', encoding: 'hex' },
    toleranceSeconds: 5,
  },
  event: {
    key: [
      {
        hash: [
          ['json:id', 'json:message.id'],
          ['json:status', 'json:type'],
        ],
        optional: ['json:statusDatetime'],
      },
      'body-hash',
    ],
    type: ['json:status', 'json:type'],
    objectId: ['json:id', 'json:message.id'],
    occurredAt: { at: 'json:statusDatetime', unit: 'iso' },
  },
})
