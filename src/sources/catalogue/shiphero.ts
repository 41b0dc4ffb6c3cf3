import { provider } from '../provider.ts'

export const shiphero = provider({
  provider: 'shiphero',
  about: {
    name: 'ShipHero',
    category: 'shipping',
    confidence: 'documented',
    evidence: [
      'https://developer.shiphero.com/webhooks/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'that `X-Shiphero-Message-ID` is the same at each attempt',
      'how long the 5 retries take; hookonce assumes a week',
    ],
    notes: [
      'The secret is the `shared_signature_secret`, shown once when the webhook is created.',
      'ShipHero discards the events that happen while a webhook is disabled.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-shiphero-hmac-sha256', encoding: 'base64' },
  event: {
    key: 'header:x-shiphero-message-id',
    type: 'json:webhook_type',
  },
  answerWithinSeconds: 10,
  acceptedStatus: 200,
  acceptedBody: '{"code":"200","Status":"Success"}',
  acceptedHeaders: { 'content-type': 'application/json' },
})
