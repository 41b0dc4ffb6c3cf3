import { provider } from '../provider.ts'

export const sendcloud = provider({
  provider: 'sendcloud',
  about: {
    name: 'Sendcloud',
    category: 'shipping',
    confidence: 'verified',
    evidence: ['https://sendcloud.dev/api/v2/webhooks'],
    unverified: ['where type, parcel and date are', 'the retries; hookonce assumes a week'],
    notes: ['There is no id; the key is made of action, parcel and date.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'sendcloud-signature', encoding: 'hex' },
  event: {
    key: [{ hash: ['json:action', 'json:parcel.id', 'json:timestamp'] }, 'body-hash'],
    type: 'json:action',
    objectId: 'json:parcel.id',
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
    object: 'json:parcel',
  },
})
