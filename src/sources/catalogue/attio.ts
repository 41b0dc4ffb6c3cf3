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
      'that the events of one delivery can be taken one by one',
      'retries: a week is counted on',
    ],
    notes: [
      'The key is a header, and not signed.',
      'Events carry no date: two equal ones in one delivery are one.',
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
