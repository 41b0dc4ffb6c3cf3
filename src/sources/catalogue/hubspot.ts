import { provider } from '../provider.ts'

export const hubspot = provider({
  provider: 'hubspot',
  about: {
    name: 'HubSpot',
    category: 'crm',
    confidence: 'verified',
    evidence: ['npm:@hubspot/api-client@13.5.0:lib/src/utils/signature.js'],
    unverified: ['the size of batches', 'that eventId alone may repeat'],
    notes: [
      'Signatures of version 3; the older two are plain hashes without a date and not believed.',
      '`eventId` is said not to be unique by itself: subscription and date are part of the key.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hubspot-signature-v3',
    encoding: 'base64',
    content: '{method}{url}{body}{timestamp}',
  },
  timestamp: { at: 'header:x-hubspot-request-timestamp', unit: 'ms', toleranceSeconds: 300 },
  batch: 'json:[]',
  event: {
    key: { hash: ['item:eventId', 'item:subscriptionId', 'item:occurredAt'] },
    type: 'item:subscriptionType',
    objectId: 'item:objectId',
    occurredAt: { at: 'item:occurredAt', unit: 'ms' },
    version: { at: 'item:occurredAt', unit: 'ms' },
  },
  retryWindowHours: 72,
  answerWithinSeconds: 5,
})
