import { provider } from '../provider.ts'

export const telnyx = provider({
  provider: 'telnyx',
  about: {
    name: 'Telnyx',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'npm:telnyx@7.24.0:lib/webhooks.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['where the object is', 'how long it retries; hookonce assumes a week'],
    notes: [
      'The secret is the public key of the account.',
      'The URL and its failover URL receive the same event: use one source for both.',
    ],
  },
  signature: {
    algorithm: 'ed25519',
    header: 'telnyx-signature-ed25519',
    encoding: 'base64',
    content: '{timestamp}|{body}',
  },
  timestamp: { at: 'header:telnyx-timestamp', unit: 's' },
  event: {
    key: 'json:data.id',
    type: 'json:data.event_type',
    objectId: ['json:data.payload.id', 'json:data.payload.call_control_id'],
    occurredAt: { at: 'json:data.occurred_at', unit: 'iso' },
    object: 'json:data.payload',
  },
  answerWithinSeconds: 2,
})
