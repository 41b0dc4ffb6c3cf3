import { provider } from '../provider.ts'

export const linkedin = provider({
  provider: 'linkedin',
  about: {
    name: 'LinkedIn',
    category: 'social',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: [
      'that every kind of notification has a `notificationId`: others are distinguished by their body',
    ],
    notes: [
      'The secret is the client secret of the app.',
      'LinkedIn validates the URL every 2 hours and expects an answer within 3 s. hookonce answers it.',
      'It retries every 5 minutes for 8 hours; hookonce assumes a day.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-li-signature',
    encoding: 'hex',
    content: 'hmacsha256={body}',
  },
  event: { key: ['json:notificationId', 'body-hash'], type: 'json:type' },
  handshake: [
    {
      method: 'GET',
      when: { 'query:challengeCode': true },
      signed: false,
      reply: {
        json: {
          challengeCode: '{query:challengeCode}',
          challengeResponse: { algorithm: 'hmac-sha256', of: '{query:challengeCode}', encoding: 'hex' },
        },
      },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
})
