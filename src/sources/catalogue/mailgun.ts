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
  // Any other status is retried; this one says that it is of no use.
  refusedStatus: 406,
})
