import { provider } from '../provider.ts'

export const huggingface = provider({
  provider: 'huggingface',
  about: {
    name: 'Hugging Face Hub',
    category: 'ai',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The secret itself is sent with each delivery. The body is not signed.',
      'There is no id and no date: two equal bodies count as one event.',
    ],
  },
  signature: { algorithm: 'token', header: 'x-webhook-secret' },
  event: {
    key: 'body-hash',
    type: { join: ['json:event.scope', 'json:event.action'], separator: '.' },
    objectId: 'json:repo.id',
  },
})
