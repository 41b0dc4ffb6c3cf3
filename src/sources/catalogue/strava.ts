import { provider } from '../provider.ts'

export const strava = provider({
  provider: 'strava',
  about: {
    name: 'Strava',
    category: 'fitness',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['how long the 3 attempts take; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Subscribe with a callback URL that ends in `?token=…`; the token is the secret.',
    ],
  },
  signature: { algorithm: 'token', at: 'query:token' },
  event: {
    key: { hash: ['json:object_type', 'json:object_id', 'json:aspect_type', 'json:event_time'] },
    type: { join: ['json:object_type', 'json:aspect_type'], separator: '.' },
    objectId: 'json:object_id',
    occurredAt: { at: 'json:event_time', unit: 's' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:hub.mode': 'subscribe', 'query:hub.challenge': true },
      signed: false,
      token: 'query:hub.verify_token',
      reply: { json: { 'hub.challenge': '{query:hub.challenge}' } },
    },
  ],
  settings: { verifyToken: 'the verify token that you give when you subscribe' },
  answerWithinSeconds: 2,
  acceptedStatus: 200,
})
