import { provider } from '../provider.ts'

export const mailgun = provider({
  provider: 'mailgun',
  about: {
    name: 'Mailgun',
    category: 'email',
    confidence: 'verified',
    evidence: ['github.com/mailgun/documentation:source/user_manual.rst'],
    unverified: ['whether a retry is signed anew'],
    notes: [
      'Only a date and a random token are signed, not the event: whoever holds one delivery can put another event into it until its date is too old. Use TLS.',
      'A bad signature is answered 401, after which Mailgun retries. It never retries after 406: with a wrong secret every event would be lost. Ask for that with `refusedStatus: 406` once the secret is known to be right.',
      'The tolerance is as long as the retries, 8 hours: a retry that keeps its date must not be lost.',
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
