import { provider } from '../provider.ts'

export const customerio = provider({
  provider: 'customerio',
  about: {
    name: 'Customer.io (reporting webhooks)',
    category: 'marketing',
    confidence: 'documented',
    evidence: [
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/CustomerIo/CustomerIoTriggerHelpers.ts (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: ['where the id of the object is', 'whether a retry is signed again'],
    notes: [
      'No tolerance is documented. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-cio-signature',
    encoding: 'hex',
    content: 'v0:{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-cio-timestamp', unit: 's' },
  event: {
    key: 'json:event_id',
    type: { join: ['json:object_type', 'json:metric'], separator: '.' },
    objectId: ['json:data.delivery_id', 'json:data.customer_id'],
    occurredAt: { at: 'json:timestamp', unit: 's' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 4,
})
