import { provider } from '../provider.ts'

export const oura = provider({
  provider: 'oura',
  about: {
    name: 'Oura',
    category: 'fitness',
    confidence: 'documented',
    evidence: [
      'https://cloud.ouraring.com/v2/docs#tag/Webhook-Subscription-Routes (cited by a secondary source)',
      'github.com/garethx/webhook-skills@61f24e3:skills/oura-webhooks/references/verification.md (secondary)',
    ],
    unverified: [
      'the unit of the signed date: its age is not checked',
      'how long the 10 retries take; hookonce assumes a week',
    ],
    notes: [
      'The secret is the client secret of the app.',
      'The documents of Oura serialise the JSON again before hashing. hookonce verifies the bytes as received.',
      'There is no id; the key is made of type, object, user and date.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-oura-signature',
    encoding: 'hex',
    content: '{header:x-oura-timestamp}{body}',
  },
  event: {
    key: {
      hash: ['json:event_type', 'json:data_type', 'json:object_id', 'json:event_time', 'json:user_id'],
    },
    type: { join: ['json:data_type', 'json:event_type'], separator: '.' },
    objectId: 'json:object_id',
    occurredAt: { at: 'json:event_time', unit: 'iso' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:verification_token': true, 'query:challenge': true },
      signed: false,
      token: 'query:verification_token',
      reply: { json: { challenge: '{query:challenge}' } },
    },
  ],
  settings: { verifyToken: 'the verification token that you give when you subscribe' },
  answerWithinSeconds: 10,
  acceptedStatus: 200,
})
