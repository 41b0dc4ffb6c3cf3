import { provider } from '../provider.ts'

export const monday = provider({
  provider: 'monday',
  about: {
    name: 'monday.com',
    category: 'project-management',
    confidence: 'documented',
    evidence: [
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
      'github.com/simstudioai/sim:apps/sim/lib/webhooks/providers/monday.ts (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the signing secret of the app that created the webhook. For app lifecycle events it is the client secret.',
      'Webhooks created by a person or a personal token have no token and are rejected.',
      'It retries once a minute for half an hour.',
    ],
  },
  signature: { algorithm: 'jwt', header: 'authorization', algorithms: ['HS256'] },
  event: {
    key: 'json:event.triggerUuid',
    type: 'json:event.type',
    objectId: ['json:event.pulseId', 'json:event.itemId', 'json:event.boardId'],
    occurredAt: { at: 'json:event.triggerTime', unit: 'iso' },
    object: 'json:event',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:challenge': true },
      signed: false,
      reply: { json: { challenge: '{json:challenge}' } },
    },
  ],
  retryWindowHours: 24,
  acceptedStatus: 200,
})
