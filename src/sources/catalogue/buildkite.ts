import { provider } from '../provider.ts'

export const buildkite = provider({
  provider: 'buildkite',
  about: {
    name: 'Buildkite',
    category: 'ci',
    confidence: 'verified',
    evidence: [
      'github.com/buildkite/docs:pages/apis/webhooks/_webhook_signature.md',
      'github.com/buildkite/docs:pages/apis/webhooks/_verifying_hmac_signatures.md',
      'github.com/buildkite/docs:pages/apis/webhooks/pipelines.md',
    ],
    unverified: [
      'that equal bodies are one event: no id is documented',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'Choose the HMAC signature in the settings of the webhook. The alternative token is not accepted.',
      'A `ping` event is sent when the settings change.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-buildkite-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'signature' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:timestamp', unit: 's' },
  event: {
    key: 'body-hash',
    type: ['header:x-buildkite-event', 'json:event'],
    objectId: ['json:build.id', 'json:job.id', 'json:agent.id'],
    occurredAt: {
      at: [
        'json:build.finished_at',
        'json:build.started_at',
        'json:build.created_at',
        'json:job.finished_at',
      ],
      unit: 'iso',
    },
  },
})
