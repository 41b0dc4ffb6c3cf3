import { provider } from '../provider.ts'

export const tiktok = provider({
  provider: 'tiktok',
  about: {
    name: 'TikTok for Developers',
    category: 'social',
    confidence: 'uncertain',
    evidence: ['github.com/simstudioai/sim:apps/sim/lib/webhooks/providers (secondary)/tiktok.ts'],
    unverified: ['retries for 72 hours; hookonce assumes a week', 'the tolerance'],
    notes: [
      'The secret is the client secret of the app.',
      'There is no id; the key is the body, which contains event, user, content and date.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'tiktok-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 's' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's' },
  event: {
    key: 'body-hash',
    type: 'json:event',
    objectId: 'json:user_openid',
    occurredAt: { at: 'json:create_time', unit: 's' },
  },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})
