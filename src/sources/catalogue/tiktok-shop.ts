import { provider } from '../provider.ts'

export const tiktokShop = provider({
  provider: 'tiktok-shop',
  about: {
    name: 'TikTok Shop',
    category: 'commerce',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where the object is'],
    notes: [
      'The secret is the app secret. The type is a number, as text.',
      'Retries come after 2 and 30 minutes, 3 and 12 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'authorization',
    encoding: 'hex',
    content: '{setting:appKey}{body}',
  },
  event: {
    key: 'json:tts_notification_id',
    type: 'json:type',
    objectId: ['json:data.order_id', 'json:shop_id'],
    occurredAt: { at: 'json:timestamp', unit: 's' },
    object: 'json:data',
  },
  settings: { appKey: 'the app key; it is signed before the body' },
  retryWindowHours: 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
