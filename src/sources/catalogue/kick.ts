import { provider } from '../provider.ts'

export const kick = provider({
  provider: 'kick',
  about: {
    name: 'Kick',
    category: 'social',
    confidence: 'uncertain',
    evidence: ['npm:nuxt-webhook-validators@0.2.12:kick (secondary)'],
    unverified: ['where type and object are', 'the tolerance', 'the retries; hookonce assumes a week'],
    notes: ['The secret is the public key that Kick publishes.'],
  },
  signature: {
    algorithm: 'rsa-sha256',
    header: 'kick-event-signature',
    encoding: 'base64',
    content: '{header:kick-event-message-id}.{timestamp}.{body}',
  },
  timestamp: { at: 'header:kick-event-message-timestamp', unit: 'iso' },
  event: {
    key: 'header:kick-event-message-id',
    type: 'header:kick-event-type',
    objectId: 'json:broadcaster.user_id',
    occurredAt: { at: 'header:kick-event-message-timestamp', unit: 'iso' },
  },
  acceptedStatus: 200,
})
