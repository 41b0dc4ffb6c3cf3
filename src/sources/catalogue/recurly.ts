import { provider } from '../provider.ts'

export const recurly = provider({
  provider: 'recurly',
  about: {
    name: 'Recurly',
    category: 'billing',
    confidence: 'verified',
    evidence: [
      'github.com/recurly/recurly-client-ruby@5233e1b:lib/recurly/webhooks.rb',
      'https://docs.recurly.com/v1.3/docs/signature-verification',
      'https://docs.recurly.com/v1.3/docs/usage-notifications',
    ],
    unverified: [
      'that a retry repeats the body, and is signed again: an old date is rejected',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'Choose JSON for the endpoint. Recurly does not sign XML, which is rejected.',
      'There is no event id; the key is the body: object, event and date.',
      'For 24 hours after a rotation, both keys sign.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'recurly-signature',
    encoding: 'hex',
    format: { kind: 'values', separator: ',' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:1', unit: 'ms' },
  event: {
    key: 'body-hash',
    type: { join: ['json:object_type', 'json:event_type'], separator: '.' },
    objectId: ['json:id', 'json:uuid'],
    occurredAt: { at: 'json:event_time', unit: 'iso' },
  },
  answerWithinSeconds: 5,
})
