import { provider } from '../provider.ts'

export const sentry = provider({
  provider: 'sentry',
  about: {
    name: 'Sentry (integration platform)',
    category: 'observability',
    confidence: 'verified',
    evidence: ['github.com/getsentry/sentry-docs:docs/integrations/integration-platform/webhooks.mdx'],
    unverified: [
      'that Request-ID stays the same when the delivery is sent again',
      'where the id of the object is',
    ],
    notes: [
      'The secret is the client secret of the integration.',
      'The date is in a header that is not signed, so it is not checked.',
      'The sample code in the documentation signs the body after serialising it again; hookonce verifies the bytes as received.',
      'Retries are not documented; hookonce assumes a week.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'sentry-hook-signature', encoding: 'hex' },
  event: {
    key: 'header:request-id',
    type: { join: ['header:sentry-hook-resource', 'json:action'], separator: '.' },
    objectId: [
      'json:data.issue.id',
      'json:data.event.event_id',
      'json:data.error.event_id',
      'json:data.installation.uuid',
    ],
    occurredAt: { at: 'header:sentry-hook-timestamp', unit: 's' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 1,
})
