import { provider } from '../provider.ts'

export const zoom = provider({
  provider: 'zoom',
  about: {
    name: 'Zoom',
    category: 'communication',
    confidence: 'verified',
    evidence: ['github.com/zoom/webhook-sample:index.js'],
    unverified: [
      'the retries after 5, 30 and 90 minutes; hookonce assumes a day',
      'the tolerance',
      'that a retry repeats `payload` byte by byte',
    ],
    notes: [
      'Zoom validates the URL every 72 hours. hookonce answers it.',
      'There is no id; the key is made of name, date and `payload`, so two participants who join in the same millisecond are two events.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-zm-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'v0=' },
    content: 'v0:{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-zm-request-timestamp', unit: 's' },
  event: {
    key: { hash: ['json:event', { textOf: 'json:payload' }], optional: ['json:event_ts'] },
    type: 'json:event',
    objectId: [
      'json:payload.object.id',
      'json:payload.object.uuid',
      'json:payload.object.call_id',
      'json:payload.object.engagement_id',
      'json:payload.user_id',
    ],
    occurredAt: { at: 'json:event_ts', unit: 'ms' },
    version: { at: 'json:event_ts', unit: 'ms' },
    object: 'json:payload.object',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:event': 'endpoint.url_validation' },
      signed: true,
      reply: {
        json: {
          plainToken: '{json:payload.plainToken}',
          encryptedToken: { algorithm: 'hmac-sha256', of: '{json:payload.plainToken}', encoding: 'hex' },
        },
      },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
