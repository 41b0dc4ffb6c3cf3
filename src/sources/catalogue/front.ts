import { provider } from '../provider.ts'

export const front = provider({
  provider: 'front',
  about: {
    name: 'Front (application webhooks)',
    category: 'support',
    confidence: 'uncertain',
    evidence: [
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: [
      'where id, object and date are',
      'the handshake, and that it is signed',
      'the retries; hookonce assumes a week',
    ],
    notes: ['For webhooks of applications. Webhooks of rules sign the body with SHA-1 and are rejected.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-front-signature',
    encoding: 'base64',
    content: '{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-front-request-timestamp', unit: 'ms' },
  event: {
    key: ['json:payload.id', 'json:id'],
    type: 'json:type',
    objectId: 'json:payload.conversation.id',
    occurredAt: { at: 'json:payload.emitted_at', unit: 's' },
    object: 'json:payload',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'header:x-front-challenge': true },
      signed: true,
      reply: { text: '{header:x-front-challenge}' },
    },
  ],
  answerWithinSeconds: 5,
})
