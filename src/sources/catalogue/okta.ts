import { provider } from '../provider.ts'

export const okta = provider({
  provider: 'okta',
  about: {
    name: 'Okta Event Hooks',
    category: 'auth',
    confidence: 'documented',
    evidence: [
      'github.com/okta/okta-developer-docs:packages/@okta/vuepress-site/docs/concepts/event-hooks/index.md',
    ],
    unverified: ['where the id of the object is'],
    notes: [
      'Nothing is signed. The secret is the value of the `Authorization` header that you choose when the hook is registered.',
      'The key is the `uuid` of each event. `eventId` identifies the delivery, which may contain several events.',
      'One retry after a timeout or a 5xx, none after a rejection; hookonce assumes a day.',
    ],
  },
  signature: { algorithm: 'token', header: 'authorization' },
  batch: 'json:data.events[]',
  event: {
    key: 'item:uuid',
    type: 'item:eventType',
    objectId: 'item:target.0.id',
    occurredAt: { at: 'item:published', unit: 'iso' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'header:x-okta-verification-challenge': true },
      signed: false,
      reply: { json: { verification: '{header:x-okta-verification-challenge}' } },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
  // 200 or 204, with an empty body.
  acceptedStatus: 204,
})
