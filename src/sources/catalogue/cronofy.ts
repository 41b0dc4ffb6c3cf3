import { provider } from '../provider.ts'

export const cronofy = provider({
  provider: 'cronofy',
  about: {
    name: 'Cronofy',
    category: 'scheduling',
    confidence: 'documented',
    evidence: [
      'https://docs.cronofy.com/developers/push-notifications/authentication/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9855808:skills/cronofy-webhooks/references/verification.md (secondary, with signatures that Cronofy publishes)',
    ],
    notes: [
      'The secret is the client secret. With two secrets, Cronofy signs with both.',
      'A notification only states that an account has changes. Every delivery is a separate event, including retries.',
      'Retries end after 24 hours. Then the channel is closed.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'cronofy-hmac-sha256',
    encoding: 'base64',
    format: { kind: 'values', separator: ',' },
  },
  event: {
    key: 'each-delivery',
    type: 'json:notification.type',
    objectId: 'json:channel.channel_id',
    object: 'json:notification',
  },
  retryWindowHours: 48,
  answerWithinSeconds: 5,
})
