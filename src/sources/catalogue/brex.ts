import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const brex = provider({
  provider: 'brex',
  about: {
    name: 'Brex',
    category: 'fintech',
    confidence: 'documented',
    evidence: [
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['the names of the headers', 'where the object is', 'the retries; hookonce assumes a week'],
    notes: ['If your deliveries have `svix-*` headers, use `svix()`.'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:event_type',
    objectId: ['json:transfer_id', 'json:expense_id', 'json:user_id'],
  },
})
