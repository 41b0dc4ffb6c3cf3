import { provider } from '../provider.ts'

export const brevo = provider({
  provider: 'brevo',
  about: {
    name: 'Brevo',
    category: 'email',
    confidence: 'uncertain',
    evidence: ['npm:nuxt-webhook-validators@0.2.12:brevo (secondary)'],
    unverified: ['the fields of the payload', 'retries: a week is counted on'],
    notes: ['Nothing is signed: choose token authentication for the webhook, and that token is the secret.'],
  },
  signature: { algorithm: 'token', header: 'authorization', prefix: 'Bearer ' },
  event: {
    key: [{ hash: ['json:message-id', 'json:event', 'json:ts_event'] }, 'body-hash'],
    type: 'json:event',
    objectId: 'json:message-id',
    occurredAt: { at: 'json:ts_event', unit: 's' },
  },
})
