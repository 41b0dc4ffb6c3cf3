import { provider } from '../provider.ts'

export const walmart = provider({
  provider: 'walmart',
  about: {
    name: 'Walmart Marketplace',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://developer.walmart.com/us-marketplace/docs/security-and-authenticity (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'where object and date are',
      'that a retry repeats the body, and is signed again: an old date is rejected',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'The secret is that of the webhook. During a rotation list both secrets: `WM_SEC.KEY_ID` is not read.',
      'The path of the registered URL is signed.',
      'No event id is documented; the key is the body.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'wm_sec.signature',
    encoding: 'base64',
    content: '{method}\n{path}\n{timestamp}\n{bodySha256}',
  },
  timestamp: { at: 'header:wm_sec.timestamp', unit: 's' },
  event: {
    key: 'body-hash',
    type: ['json:eventType', 'json:source.eventType'],
    objectId: 'json:resource.purchaseOrderId',
  },
  answerWithinSeconds: 3,
})
