import { provider } from '../provider.ts'

export const vonage = provider({
  provider: 'vonage',
  about: {
    name: 'Vonage (Messages/Voice signed webhooks)',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'github.com/Nexmo/nexmo-developer:_documentation/en/messages/concepts/signed-webhooks.md',
      'npm:@vonage/jwt@1.14.0:dist/cjs/verifySignature.js',
      'https://developer.vonage.com/en/voice/voice-api/webhook-reference',
    ],
    unverified: ['retries for 24 hours: a week is counted on', 'the time to answer in'],
    notes: [
      'The secret is the signature secret of the account; with several accounts list them all, each is tried.',
      'The token must carry the hash of the body: the SDK leaves that open, here it is demanded.',
      'A message that came in has no status; its type is `inbound`.',
      'For status and message callbacks: a call that waits for instructions in the reply gets none.',
    ],
  },
  signature: {
    algorithm: 'jwt',
    header: 'authorization',
    prefix: 'Bearer ',
    algorithms: ['HS256'],
    issuer: 'Vonage',
    bodyHash: { claim: 'payload_hash', encoding: 'hex' },
  },
  event: {
    key: [
      {
        hash: [
          ['json:message_uuid', 'json:uuid', 'json:messageId'],
          ['json:status', 'const:inbound'],
        ],
        // A call may ask for input several times.
        optional: ['json:timestamp', { textOf: 'json:dtmf' }, { textOf: 'json:speech' }],
      },
      'body-hash',
    ],
    type: ['json:status', 'const:inbound'],
    objectId: ['json:message_uuid', 'json:uuid', 'json:messageId', 'json:conversation_uuid'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
