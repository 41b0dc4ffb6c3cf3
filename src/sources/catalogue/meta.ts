import { provider } from '../provider.ts'

export const meta = provider({
  provider: 'meta',
  about: {
    name: 'Meta (Facebook, Instagram, Messenger)',
    category: 'social',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'npm:whatsapp-api-js@6.3.0:lib/index.js (secondary)',
    ],
    unverified: ['the time to answer in', 'what names a change'],
    notes: ['Changes carry no id: two of one object with the same date and content are one.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  batch: ['json:entry[].changes[]', 'json:entry[].messaging[]'],
  event: {
    key: ['item:message.mid', 'body-hash'],
    type: { join: ['json:object', ['item:field', 'const:messaging']], separator: '.' },
    objectId: 'json:entry.0.id',
    occurredAt: { at: 'json:entry.0.time', unit: 's' },
  },
  handshake: [
    {
      method: 'GET',
      when: { 'query:hub.mode': 'subscribe', 'query:hub.challenge': true },
      signed: false,
      token: 'query:hub.verify_token',
      reply: { text: '{query:hub.challenge}' },
    },
  ],
  settings: { verifyToken: 'the verify token that you enter in the dashboard of the app' },
  retryWindowHours: 48,
  answerWithinSeconds: 20,
  acceptedStatus: 200,
})
