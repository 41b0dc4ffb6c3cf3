import { provider } from '../provider.ts'

export const linkedin = provider({
  provider: 'linkedin',
  about: {
    name: 'LinkedIn',
    category: 'social',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: [
      'that every kind of notification names itself by `notificationId`: what does not is told apart by its body',
    ],
    notes: [
      'The secret is the client secret of the app.',
      'The URL is validated anew every 2 hours; that is answered here, within the 3 s that it has.',
      'It retries every 5 minutes for 8 hours; a day is counted on.',
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
