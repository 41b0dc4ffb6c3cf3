import { provider } from '../provider.ts'

const ITEM = 'item:NotificationRequestItem'

export const adyen = provider({
  provider: 'adyen',
  about: {
    name: 'Adyen standard webhooks',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'npm:@adyen/api-library@32.1.0:lib/src/utils/hmacValidator.js',
      'https://docs.adyen.com/development-resources/webhooks/troubleshoot',
    ],
    unverified: ['the size of batches'],
    notes: [
      'Only eight fields of each item are signed.',
      'The secret is the hexadecimal HMAC key of the webhook.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    at: `${ITEM}.additionalData.hmacSignature`,
    encoding: 'base64',
    content: [
      'pspReference',
      'originalReference',
      'merchantAccountCode',
      'merchantReference',
      'amount.value',
      'amount.currency',
      'eventCode',
      'success',
    ]
      .map((field) => `{${ITEM}.${field}}`)
      .join(':'),
    covers: 'not-body',
    secretEncoding: 'hex',
  },
  batch: 'json:notificationItems[]',
  signedPer: 'event',
  event: {
    key: { hash: [`${ITEM}.pspReference`, `${ITEM}.eventCode`, `${ITEM}.success`] },
    type: `${ITEM}.eventCode`,
    objectId: [`${ITEM}.pspReference`, `${ITEM}.originalReference`],
    occurredAt: { at: `${ITEM}.eventDate`, unit: 'iso' },
    object: ITEM,
  },
  retryWindowHours: 30 * 24,
  answerWithinSeconds: 10,
})
