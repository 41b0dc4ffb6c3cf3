import { provider } from '../provider.ts'

export const heroku = provider({
  provider: 'heroku',
  about: {
    name: 'Heroku',
    category: 'hosting',
    confidence: 'uncertain',
    evidence: ['npm:nuxt-webhook-validators@0.2.12:heroku (secondary)'],
    unverified: [
      'what identifies an event and its type',
      '10 attempts within 72 hours; hookonce assumes a week',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'heroku-webhook-hmac-sha256', encoding: 'base64' },
  event: {
    key: 'json:id',
    type: { join: ['json:webhook_metadata.event.include', 'json:action'], separator: '.' },
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
})
