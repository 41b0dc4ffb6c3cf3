import { provider } from '../provider.ts'

export const fastspring = provider({
  provider: 'fastspring',
  about: {
    name: 'FastSpring',
    category: 'billing',
    confidence: 'verified',
    evidence: [
      'https://developer.fastspring.com/docs/message-security',
      'https://fastspring.com/docs/webhooks/',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the id of the object', 'how long it retries; hookonce assumes a week'],
    notes: [
      'Only webhooks with an HMAC SHA256 secret are signed; others are rejected.',
      'A retry that you start yourself has a new event id, and is a new event.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-fs-signature', encoding: 'base64' },
  batch: 'json:events[]',
  event: {
    key: 'item:id',
    type: 'item:type',
    objectId: ['item:data.id', 'item:data.order', 'item:data.subscription', 'item:data.account'],
    occurredAt: { at: 'item:created', unit: 'ms' },
    object: 'item:data',
  },
  // FastSpring retries until it gets a 200.
  acceptedStatus: 200,
})
