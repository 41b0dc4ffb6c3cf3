import { provider } from '../provider.ts'

export const trello = provider({
  provider: 'trello',
  about: {
    name: 'Trello',
    category: 'project-management',
    confidence: 'documented',
    evidence: [
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Trello/TrelloTriggerHelpers.ts (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['that 410 deletes the webhook'],
    notes: [
      'The secret is that of the application. `url` must be the callback URL exactly as it was registered: it is signed.',
      'Three retries within four minutes; hookonce assumes a day.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha1',
    header: 'x-trello-webhook',
    encoding: 'base64',
    content: '{body}{url}',
  },
  event: {
    key: 'json:action.id',
    type: 'json:action.type',
    objectId: ['json:action.data.card.id', 'json:model.id'],
    occurredAt: { at: 'json:action.date', unit: 'iso' },
    object: 'json:action',
  },
  handshake: [{ method: 'HEAD', signed: false }],
  retryWindowHours: 24,
  acceptedStatus: 200,
})
