import { provider } from '../provider.ts'

export const calCom = provider({
  provider: 'cal-com',
  about: {
    name: 'Cal.com',
    category: 'scheduling',
    confidence: 'verified',
    evidence: ['github.com/calcom/cal.com:packages/features/webhooks/lib/sendPayload.ts'],
    unverified: ['the test button and its event PING', 'the retries; hookonce assumes a week'],
    notes: ['A webhook without a secret sends `no-secret-provided` instead of a signature, and is rejected.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-cal-signature-256', encoding: 'hex' },
  event: {
    key: [{ hash: ['json:triggerEvent', 'json:payload.uid', 'json:createdAt'] }, 'body-hash'],
    type: 'json:triggerEvent',
    objectId: ['json:payload.uid', 'json:payload.bookingId'],
    occurredAt: { at: 'json:createdAt', unit: 'iso' },
    object: 'json:payload',
  },
})
