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
    unverified: ['the time limit for an answer', 'what identifies a change'],
    notes: [
      'The key of a message is its `mid`. Deleting it on Instagram repeats the `mid`, so `is_deleted` is part of the key.',
      'A change has no id: two changes of one object with the same field and value count as one event. `entry.time` is the time of sending and not part of the key.',
      'Changes without values (`changed_fields`) cannot be distinguished otherwise. Their key includes the time of sending, so a retry may be a second event.',
      'The type is `<object>.<field>` of a change, `<object>.messaging`, `<object>.standby` or `<object>.changed_fields`. An entry of any other shape has the type `<object>`.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  batch: [
    'json:entry[].changes[]',
    'json:entry[].messaging[]',
    'json:entry[].standby[]',
    // Instagram's `field` and `value`, or only the names of the changed fields.
    'json:entry[]',
  ],
  event: {
    key: [
      {
        hash: ['json:object', 'json:entry.0.id', 'item:message.mid'],
        optional: ['item:message.is_deleted'],
      },
      { hash: ['json:object', 'json:entry.0.id', 'item:field', { textOf: 'item:value' }] },
      { hash: ['json:object', 'json:entry.0.id', 'item-hash'] },
    ],
    type: {
      join: [
        'json:object',
        'item:field',
        { present: ['json:entry.0.messaging', 'json:entry.0.standby', 'json:entry.0.changed_fields'] },
      ],
      separator: '.',
    },
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
