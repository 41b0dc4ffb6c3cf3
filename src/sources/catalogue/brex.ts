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
    unverified: ['the names of the headers', 'where the object is', 'retries: a week is counted on'],
    notes: ['Where your deliveries carry `svix-*` headers, use `svix()`.'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:event_type',
    objectId: ['json:transfer_id', 'json:expense_id', 'json:user_id'],
  },
})
