import { provider } from '../provider.ts'

export const uberEats = provider({
  provider: 'uber-eats',
  about: {
    name: 'Uber Eats',
    category: 'delivery',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where id, object and date are', 'how long the 7 attempts take; hookonce assumes a week'],
    notes: [
      'The secret is the client secret of the app; for Uber Direct it is the signing key of the webhook.',
      'Retries come only after 500, 502, 503, 504 and timeouts.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-uber-signature', encoding: 'hex' },
  event: {
    key: 'json:event_id',
    type: 'json:event_type',
    objectId: 'json:meta.resource_id',
    occurredAt: { at: 'json:event_time', unit: 's' },
    object: 'json:meta',
  },
  acceptedStatus: 200,
})
