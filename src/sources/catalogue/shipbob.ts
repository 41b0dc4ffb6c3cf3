import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const shipbob = provider({
  provider: 'shipbob',
  about: {
    name: 'ShipBob',
    category: 'shipping',
    confidence: 'documented',
    evidence: [
      'https://developer.shipbob.com/2026-01/webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the id of the object'],
    notes: [
      'For the API of 2026-01. Versions 1.0 and 2.0 have other headers and are not covered.',
      'Retries end after 28 hours.',
    ],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'header:x-webhook-topic',
    objectId: 'json:id',
    occurredAt: { at: 'header:webhook-timestamp', unit: 's' },
  },
  retryWindowHours: 3 * 24,
  answerWithinSeconds: 15,
})
