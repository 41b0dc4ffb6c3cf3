import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const render = provider({
  provider: 'render',
  about: {
    name: 'Render',
    category: 'hosting',
    confidence: 'documented',
    evidence: [
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['where the object is', 'the retries; hookonce assumes a week'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:data',
  },
})
