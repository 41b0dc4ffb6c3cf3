import { provider } from '../provider.ts'

export const picqer = provider({
  provider: 'picqer',
  about: {
    name: 'Picqer',
    category: 'logistics',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where date and object are: neither is read'],
    notes: [
      'Only webhooks with a secret are signed; others are refused.',
      'Hook, event and date to the second would make two orders of one second one event: the whole body is the key.',
      '15 attempts take 17 hours; after 5 such failures within a day the webhook is switched off.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-picqer-signature', encoding: 'base64' },
  event: { key: 'body-hash', type: 'json:event' },
  retryWindowHours: 48,
  answerWithinSeconds: 10,
})
