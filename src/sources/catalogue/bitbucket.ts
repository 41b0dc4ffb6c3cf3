import { provider } from '../provider.ts'

export const bitbucket = provider({
  provider: 'bitbucket',
  about: {
    name: 'Bitbucket',
    category: 'source-control',
    confidence: 'documented',
    evidence: [
      'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
      'https://coderabbitai.github.io/bitbucket/interfaces/server.BitbucketServerWebhookHeaders.html (quotes the vendor docs)',
      'github.com/hookdeck/webhook-samples@84a3957 (captured requests)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'that X-Request-UUID stays the same when the delivery is sent again',
      'the two retries; hookonce assumes a week',
    ],
    notes: [
      'Deliveries are signed only if the webhook has a secret.',
      'Bitbucket Server and Data Center name the event in `X-Request-Id`.',
      'The signature covers the body only: event id and event name are headers, which TLS protects but the secret does not.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hub-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: ['header:x-request-uuid', 'header:x-request-id'],
    type: 'header:x-event-key',
    objectId: [
      'json:pullrequest.id',
      'json:push.changes.0.new.target.hash',
      'json:issue.id',
      'json:repository.uuid',
    ],
    occurredAt: { at: 'header:x-event-time', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 10,
})
