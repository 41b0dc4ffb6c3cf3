import { provider } from '../provider.ts'

export const mailgun = provider({
  provider: 'mailgun',
  about: {
    name: 'Mailgun',
    category: 'email',
    confidence: 'verified',
    evidence: ['github.com/mailgun/documentation:source/user_manual.rst'],
    unverified: ['whether a retry is signed again'],
    notes: [
      'Only a date and a random token are signed, not the event: anyone who holds one delivery can replace its event until the date is too old. Use TLS.',
      'A bad signature is answered with 401, and Mailgun retries. After 406 it never retries, so with a wrong secret every event would be lost. Set `refusedStatus: 406` once you know that the secret is right.',
      'The tolerance is as long as the retries, 8 hours, so that a retry with its original date is not lost.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    at: 'json:signature.signature',
    encoding: 'hex',
    content: '{timestamp}{json:signature.token}',
    covers: 'not-body',
  },
  timestamp: { at: 'json:signature.timestamp', unit: 's', toleranceSeconds: 8 * 3600 },
  event: {
    key: 'json:event-data.id',
    type: 'json:event-data.event',
    objectId: 'json:event-data.message.headers.message-id',
    occurredAt: { at: 'json:event-data.timestamp', unit: 's' },
    object: 'json:event-data',
  },
  retryWindowHours: 24,
  acceptedStatus: 200,
})
