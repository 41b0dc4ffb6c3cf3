import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const stytch = provider({
  provider: 'stytch',
  about: {
    name: 'Stytch',
    category: 'auth',
    confidence: 'uncertain',
    evidence: [
      'github.com/svix/svix-webhooks:python/svix/models/ingest_source_in.py (Stytch listed as an ingest source)',
    ],
    unverified: ['everything: no source confirms it', 'the retries; hookonce assumes a week'],
    notes: ['Stytch reportedly delivers through Svix.'],
  },
  ...standardSignature('svix'),
  event: {
    key: ['json:event_id', 'header:svix-id'],
    type: ['json:event_type', 'json:action'],
    objectId: 'json:id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
})
