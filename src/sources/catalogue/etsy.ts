import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const etsy = provider({
  provider: 'etsy',
  about: {
    name: 'Etsy',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://developers.etsy.com/documentation/essentials/webhooks',
      'https://github.com/etsy/open-api/discussions/1509',
    ],
    unverified: [
      'the names of the headers',
      'the fields of the payload',
      'the retries; hookonce assumes a week',
    ],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:event_type',
    objectId: ['json:resource_url', 'json:shop_id'],
    occurredAt: { at: 'header:webhook-timestamp', unit: 's' },
  },
})
