import { provider } from '../provider.ts'

export const commercelayer = provider({
  provider: 'commercelayer',
  about: {
    name: 'Commerce Layer',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://docs.commercelayer.io/core/callbacks-security (cited by a secondary source)',
      'github.com/hookdeck/webhook-samples@84a3957 (captured real requests)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that a retry repeats the body', 'how long the 10 retries take; hookonce assumes a week'],
    notes: [
      'The secret is the `shared_secret` of the webhook.',
      'There is no id; the key is made of topic and body.',
      'After 30 failures in a row the webhook is disabled until you reset it.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-commercelayer-signature', encoding: 'base64' },
  event: {
    key: { hash: ['header:x-commercelayer-topic', 'body-hash'] },
    type: 'header:x-commercelayer-topic',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:data.attributes.updated_at', unit: 'iso' },
    object: 'json:data',
  },
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
