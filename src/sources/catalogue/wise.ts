import { provider } from '../provider.ts'

export const wise = provider({
  provider: 'wise',
  about: {
    name: 'Wise',
    category: 'fintech',
    confidence: 'verified',
    evidence: [
      'github.com/transferwise/digital-signatures-examples:verify-webhook-signature/verify-signature.js',
      'github.com/transferwise/digital-signatures-examples:verify-webhook-signature/README.md',
    ],
    unverified: [
      'that X-Delivery-Id stays the same when the event is sent again',
      'the 25 attempts within 2 weeks; hookonce assumes 30 days',
      'the time limit for an answer',
    ],
    notes: [
      'The secret is the public key that Wise publishes; sandbox and production have different ones.',
      'The test notification at setup (`X-Test-Notification: true`) is signed and recorded like any other event.',
    ],
  },
  signature: { algorithm: 'rsa-sha256', header: 'x-signature-sha256', encoding: 'base64' },
  event: {
    key: [
      'header:x-delivery-id',
      { hash: ['json:subscription_id', 'json:data.resource.id', 'json:event_type', 'json:sent_at'] },
    ],
    type: 'json:event_type',
    objectId: 'json:data.resource.id',
    occurredAt: { at: ['json:data.occurred_at', 'json:sent_at'], unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 30 * 24,
  answerWithinSeconds: 10,
})
