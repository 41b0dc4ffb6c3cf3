import { provider } from '../provider.ts'

export const asana = provider({
  provider: 'asana',
  about: {
    name: 'Asana',
    category: 'project-management',
    confidence: 'documented',
    evidence: ['github.com/Asana/developer-docs:source/includes/markdown/_webhooks.html.md'],
    notes: [
      'The handshake of each webhook contains its secret, which is passed to `onSecret`. Store it and configure it.',
      'A batch without events is a heartbeat.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-hook-signature', encoding: 'hex' },
  batch: 'json:events[]',
  emptyBatch: 'acknowledge',
  event: {
    key: {
      hash: ['item:action', 'item:resource.gid', 'item:created_at'],
      optional: ['item:parent.gid', 'item:user.gid', 'item:change.field'],
    },
    type: { join: ['item:resource.resource_type', 'item:action'], separator: '.' },
    objectId: 'item:resource.gid',
    occurredAt: { at: 'item:created_at', unit: 'iso' },
  },
  handshake: [
    {
      method: 'POST',
      when: { 'header:x-hook-secret': true },
      signed: false,
      secret: 'header:x-hook-secret',
      reply: { headers: { 'x-hook-secret': '{header:x-hook-secret}' } },
    },
  ],
  retryWindowHours: 48,
  answerWithinSeconds: 10,
  acceptedStatus: 200,
})
