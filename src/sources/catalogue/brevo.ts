import { provider } from '../provider.ts'

export const brevo = provider({
  provider: 'brevo',
  about: {
    name: 'Brevo',
    category: 'email',
    confidence: 'uncertain',
    evidence: [
      'npm:nuxt-webhook-validators@0.2.12:brevo (secondary)',
      'https://developers.brevo.com/docs/transactional-webhooks',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Choose token authentication for the webhook; the token is the secret.',
      'There is no id; the key is made of message, event, second, recipient, link and client. `ts_epoch` is when the message was sent.',
    ],
  },
  signature: { algorithm: 'token', header: 'authorization', prefix: 'Bearer ' },
  event: {
    key: [
      {
        hash: ['json:message-id', 'json:event', 'json:ts_event'],
        optional: ['json:email', 'json:link', 'json:ip', 'json:user_agent'],
      },
      { hash: [['json:event', 'json:msg_status'], 'body-hash'] },
    ],
    type: ['json:event', 'json:msg_status'],
    objectId: 'json:message-id',
    occurredAt: { at: 'json:ts_event', unit: 's' },
  },
})
