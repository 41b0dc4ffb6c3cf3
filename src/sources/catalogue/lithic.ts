import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const lithic = provider({
  provider: 'lithic',
  about: {
    name: 'Lithic',
    category: 'fintech',
    confidence: 'verified',
    evidence: ['npm:lithic@0.145.0:resources/webhooks.js'],
    unverified: ['where type and object are', 'the retries; hookonce assumes a week'],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:event_type',
    objectId: 'json:token',
    occurredAt: { at: 'header:webhook-timestamp', unit: 's' },
  },
})
