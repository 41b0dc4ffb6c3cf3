import { provider } from '../provider.ts'

export const pipedrive = provider({
  provider: 'pipedrive',
  about: {
    name: 'Pipedrive',
    category: 'crm',
    confidence: 'documented',
    evidence: [
      'https://pipedrive.readme.io/docs/guide-for-webhooks-v2',
      'https://pipedrive.readme.io/docs/webhooks-v2-migration-guide',
      'github.com/hookdeck/webhook-samples@84a3957 (captured real requests, v1)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that `meta.id` is the same at a retry: hookonce does not use it'],
    notes: [
      'Nothing is signed. Create the webhook with a user and a password; the secret is `user:password`.',
      'The key is made of webhook, object, action, correlation and date. `attempt` (v2) and `retry` (v1) differ at each attempt.',
      'Four attempts within 3 minutes. Without a success for 3 days the webhook is deleted.',
    ],
  },
  signature: { algorithm: 'basic' },
  event: {
    key: [
      {
        hash: [
          'json:meta.webhook_id',
          'json:meta.action',
          'json:meta.entity',
          'json:meta.entity_id',
          'json:meta.correlation_id',
          'json:meta.timestamp',
        ],
      },
      // The places of version 1.
      { hash: ['json:meta.webhook_id', 'json:event', 'json:meta.id', 'json:meta.timestamp_micro'] },
    ],
    type: { join: [['json:event', 'json:meta.action'], 'json:meta.entity'], separator: '.' },
    objectId: ['json:meta.entity_id', 'json:meta.id'],
    occurredAt: { at: 'json:meta.timestamp', unit: 's' },
    object: ['json:data', 'json:current', 'json:previous'],
  },
  retryWindowHours: 24,
})
