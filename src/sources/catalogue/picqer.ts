import { provider } from '../provider.ts'

export const picqer = provider({
  provider: 'picqer',
  about: {
    name: 'Picqer',
    category: 'logistics',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where date and object are: hookonce reads neither'],
    notes: [
      'Only webhooks with a secret are signed; others are rejected.',
      'The key is the whole body. With hook, event and date to the second, two orders in one second would become one event.',
      '15 attempts take 17 hours. After 5 failed deliveries within a day the webhook is disabled.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-picqer-signature', encoding: 'base64' },
  event: { key: 'body-hash', type: 'json:event' },
  retryWindowHours: 48,
  answerWithinSeconds: 10,
})
