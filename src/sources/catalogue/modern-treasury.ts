import { provider } from '../provider.ts'

export const modernTreasury = provider({
  provider: 'modern-treasury',
  about: {
    name: 'Modern Treasury',
    category: 'fintech',
    confidence: 'verified',
    evidence: ['npm:modern-treasury@3.3.0:resources/webhooks.js'],
    unverified: ['the headers with id and topic', 'the retries; hookonce assumes a week'],
    notes: ['Id and topic are in headers, which are not signed.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-signature', encoding: 'hex' },
  event: {
    key: 'header:x-event-id',
    type: { join: ['header:x-topic', 'json:event'], separator: '.' },
    objectId: 'json:data.id',
    occurredAt: { at: 'json:data.updated_at', unit: 'iso' },
    version: { at: 'json:data.updated_at', unit: 'iso' },
    object: 'json:data',
  },
})
