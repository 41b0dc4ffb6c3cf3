import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const loops = provider({
  provider: 'loops',
  about: {
    name: 'Loops',
    category: 'email',
    confidence: 'documented',
    evidence: ['npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)'],
    unverified: ['where object and date are', 'the retries; hookonce assumes a week'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:eventName',
    objectId: 'json:contactIdentity.id',
    occurredAt: { at: 'json:eventTime', unit: 's' },
  },
})
