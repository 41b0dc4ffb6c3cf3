import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const bigcommerce = provider({
  provider: 'bigcommerce',
  about: {
    name: 'BigCommerce',
    category: 'commerce',
    confidence: 'verified',
    evidence: [
      'github.com/bigcommerce/docs:docs/integrations/webhooks/https-webhook-overview.mdx',
      'github.com/bigcommerce/docs:docs/integrations/webhooks/overview.mdx',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the client secret of the app as plain text. It is not decoded.',
      'The key is `webhook-id`, which is signed and the same on every retry. If the header is missing, the `hash` of the payload is used, which older documents recommend. Different events have been seen to share one.',
      'Eleven retries over 48 hours, then the webhook is disabled.',
    ],
  },
  ...standardSignature('webhook', { secretEncoding: 'utf8', secretPrefix: '' }),
  event: {
    key: ['header:webhook-id', 'json:hash'],
    type: 'json:scope',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 's' },
    object: 'json:data',
  },
  retryWindowHours: 72,
  acceptedStatus: 200,
})
