import { provider } from '../provider.ts'

export const attio = provider({
  provider: 'attio',
  about: {
    name: 'Attio',
    category: 'crm',
    confidence: 'documented',
    evidence: [
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: [
      'where the object is',
      'that the events of one delivery can be processed separately',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'The key is in a header, which is not signed.',
      'Events have no date: two equal events in one delivery count as one.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'attio-signature', encoding: 'hex' },
  batch: 'json:events[]',
  event: {
    // The header identifies the delivery. The body distinguishes its events, one per body.
    key: { hash: ['header:idempotency-key', 'body-hash'] },
    type: 'item:event_type',
    objectId: 'item:id.record_id',
  },
})
