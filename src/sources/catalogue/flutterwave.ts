import { provider } from '../provider.ts'

export const flutterwave = provider({
  provider: 'flutterwave',
  about: {
    name: 'Flutterwave',
    category: 'payments',
    confidence: 'uncertain',
    evidence: [
      'https://developer.flutterwave.com/docs/webhooks',
      'https://glama.ai/mcp/servers/@Odiabackend099 (verif-hash use, secondary)',
    ],
    unverified: [
      'the signature of v4',
      'what identifies an event',
      '3 retries, 30 minutes apart; hookonce assumes a week',
    ],
    notes: ['For v4. In v3 the header `verif-hash` contains the secret itself: use `custom()`.'],
  },
  signature: { algorithm: 'hmac-sha256', header: 'flutterwave-signature', encoding: 'base64' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
    object: 'json:data',
  },
  answerWithinSeconds: 60,
  acceptedStatus: 200,
})
