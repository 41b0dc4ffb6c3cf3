import { provider } from '../provider.ts'

const DATES = ['json:DeliveredAt', 'json:BouncedAt', 'json:ReceivedAt', 'json:ChangedAt'] as const

export const postmark = provider({
  provider: 'postmark',
  about: {
    name: 'Postmark',
    category: 'email',
    confidence: 'documented',
    evidence: [
      'https://postmarkapp.com/developer/webhooks/webhooks-overview (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of 10 hours; hookonce assumes a day', 'which field holds the date'],
    notes: [
      'Nothing is signed. Register the URL as `https://user:password@host/…`; the secret is `user:password`.',
      'Only bounces have an id. The key of other events is made of kind, message, recipient, date, link and client. The key of inbound mail is its message id.',
    ],
  },
  signature: { algorithm: 'basic' },
  event: {
    key: [
      { hash: ['json:RecordType', 'json:ID'] },
      {
        hash: ['json:RecordType', 'json:MessageID', [...DATES]],
        optional: ['json:Recipient', 'json:OriginalLink', 'json:UserAgent', 'json:Geo.IP'],
      },
      { hash: ['json:MessageID', 'json:OriginalRecipient'] },
    ],
    type: ['json:RecordType', 'const:Inbound'],
    objectId: 'json:MessageID',
    occurredAt: { at: [...DATES], unit: 'iso' },
  },
  retryWindowHours: 24,
  acceptedStatus: 200,
})
