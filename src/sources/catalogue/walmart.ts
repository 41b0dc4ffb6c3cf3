import { provider } from '../provider.ts'

export const walmart = provider({
  provider: 'walmart',
  about: {
    name: 'Walmart Marketplace (performance webhooks)',
    category: 'commerce',
    confidence: 'verified',
    evidence: [
      'https://developer.walmart.com/us-marketplace/docs/security-and-authenticity',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'where type, object and date are',
      'that a retry repeats the body',
      'retries after 5, 15 and 45 minutes; hookonce assumes a week',
    ],
    notes: [
      'The secret is that of the webhook. During a rotation list both secrets: `WM_SEC.KEY_ID` is not read.',
      'The path of the registered URL is signed.',
      'Walmart recommends to reject dates older than 5 minutes. But the date is that of the event, so hookonce allows two hours for its retries; the key recognises a replay.',
      'No event id is documented; the key is the body.',
      'Subscriptions with an `authMethod` of your choice are not signed in this way: use `custom()`.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'wm_sec.signature',
    encoding: 'base64',
    content: '{method}\n{path}\n{timestamp}\n{bodySha256}',
  },
  timestamp: { at: 'header:wm_sec.timestamp', unit: 's', toleranceSeconds: 7_200 },
  event: {
    key: 'body-hash',
    type: ['json:eventType', 'json:source.eventType', 'json:payload.notificationType'],
    objectId: 'json:resource.purchaseOrderId',
  },
  answerWithinSeconds: 3,
})
