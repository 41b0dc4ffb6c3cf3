import { provider } from '../provider.ts'

export const pusher = provider({
  provider: 'pusher',
  about: {
    name: 'Pusher Channels',
    category: 'realtime',
    confidence: 'verified',
    evidence: [
      'npm:pusher@5.3.4:lib/webhook.js',
      'npm:pusher@5.3.4:lib/token.js',
      'github.com/pusher/docs:docs/channels/server_api/webhooks.md',
    ],
    notes: [
      '`X-Pusher-Key` names the signing key of the app. List the secrets of all keys; each is tried.',
      'Events have no id: two events with the same content and the same date, to the millisecond, count as one.',
      'Retries end after 5 minutes.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-pusher-signature', encoding: 'hex' },
  batch: 'json:events[]',
  event: {
    key: 'body-hash',
    type: 'item:name',
    objectId: 'item:channel',
    occurredAt: { at: 'json:time_ms', unit: 'ms' },
  },
  retryWindowHours: 24,
})
