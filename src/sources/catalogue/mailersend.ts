import { provider } from '../provider.ts'

export const mailersend = provider({
  provider: 'mailersend',
  about: {
    name: 'MailerSend',
    category: 'email',
    confidence: 'documented',
    evidence: [
      'https://developers.mailersend.com/api/v1/account/webhooks.html (cited by a secondary source)',
      'github.com/garethx/webhook-skills@cb5d6d0:skills/mailersend-webhooks/references/overview.md (secondary)',
    ],
    notes: [
      'When a webhook is saved, MailerSend sends `webhook.test`, which is signed with a public secret. hookonce answers it and records nothing.',
      'MailerSend never retries after 401: set the secret before you save the webhook.',
      'Retries end after 3 days. Then the webhook is paused.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'signature', encoding: 'hex' },
  event: {
    key: [{ hash: ['json:type', 'json:data.id', 'json:created_at'] }, 'body-hash'],
    type: 'json:type',
    objectId: ['json:data.message_id', 'json:data.id'],
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
  handshake: [{ method: 'POST', when: { 'json:type': 'webhook.test' }, signed: false }],
  retryWindowHours: 4 * 24,
  answerWithinSeconds: 3,
})
