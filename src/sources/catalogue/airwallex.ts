import { provider } from '../provider.ts'

export const airwallex = provider({
  provider: 'airwallex',
  about: {
    name: 'Airwallex',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://www.airwallex.com/docs/developer-tools__listen-for-webhook-events',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'the tolerance: Airwallex recommends to check the date and names no limit',
      'that a retry is signed again: an old date is rejected',
    ],
    notes: ['Each URL has its own secret.', 'Retries end after 3 days and keep the `id`.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-signature',
    encoding: 'hex',
    content: '{timestamp}{body}',
  },
  timestamp: { at: 'header:x-timestamp', unit: 'ms' },
  event: {
    key: 'json:id',
    type: 'json:name',
    objectId: 'json:data.object.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data.object',
  },
  retryWindowHours: 4 * 24,
  acceptedStatus: 200,
})
