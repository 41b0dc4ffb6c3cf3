import { provider } from '../provider.ts'

export const aftership = provider({
  provider: 'aftership',
  about: {
    name: 'AfterShip Tracking',
    category: 'shipping',
    confidence: 'documented',
    evidence: [
      'https://www.aftership.com/docs/tracking/webhook/webhook-signature',
      'https://www.aftership.com/docs/tracking/2025-01/webhook/webhook-specifications',
      'https://www.aftership.com/blog/aftership-introduces-webhook',
      'https://www.skills.sh/hookdeck/webhook-skills/aftership-webhooks (secondary)',
    ],
    unverified: [
      'where the object is',
      'the 14 retries, at doubling intervals from 30 s; hookonce assumes 14 days',
    ],
    notes: [
      'For Tracking only: Returns signs in `as-signature-hmac-sha256`, Shipping in `am-webhook-signature`.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'aftership-hmac-sha256', encoding: 'base64' },
  event: {
    key: 'json:event_id',
    type: 'json:event',
    objectId: ['json:msg.id', 'json:msg.tracking_number'],
    occurredAt: { at: 'json:ts', unit: 's' },
    object: 'json:msg',
  },
  retryWindowHours: 14 * 24,
})
