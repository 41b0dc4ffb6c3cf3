import { provider } from '../provider.ts'

export const pagerduty = provider({
  provider: 'pagerduty',
  about: {
    name: 'PagerDuty (V3)',
    category: 'observability',
    confidence: 'verified',
    evidence: [
      'github.com/PagerDuty/developer-docs:docs/webhooks/04-Signatures.md',
      'github.com/PagerDuty/developer-docs:docs/webhooks/02-Behavior.md',
      'github.com/PagerDuty/developer-docs:docs/webhooks/01-Overview.md',
    ],
    unverified: ['the event `pagey.ping` of a test'],
    notes: [
      'The documents recommend `X-Webhook-Id` for detecting duplicates. It is a header, which TLS protects but the secret does not.',
      'A rejected delivery is not retried, and three in a row disable the webhook for a day. Configure the secret before you create the webhook.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-pagerduty-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
  },
  event: {
    key: ['header:x-webhook-id', 'json:event.id'],
    type: 'json:event.event_type',
    objectId: 'json:event.data.id',
    occurredAt: { at: 'json:event.occurred_at', unit: 'iso' },
    object: 'json:event.data',
  },
  retryWindowHours: 48,
  answerWithinSeconds: 5,
})
