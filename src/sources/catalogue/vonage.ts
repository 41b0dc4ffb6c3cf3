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
    unverified: ['retries for 24 hours; hookonce assumes a week', 'the time limit for an answer'],
    notes: [
      'The secret is the signature secret of the account; with several accounts, list all secrets; each is tried.',
      'The token must contain the hash of the body. The SDK does not require it, but hookonce does.',
      'An inbound message has no status; its type is `inbound`.',
      'For status and message callbacks. Calls that expect instructions in the reply are not supported.',
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
