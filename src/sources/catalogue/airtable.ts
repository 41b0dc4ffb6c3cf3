import { provider } from '../provider.ts'

export const airtable = provider({
  provider: 'airtable',
  about: {
    name: 'Airtable',
    category: 'productivity',
    confidence: 'documented',
    evidence: [
      'https://airtable.com/developers/web/api/webhooks-overview (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    notes: [
      'A delivery only states that a base has changes. Fetch the changes in a handler, with the cursor of the webhook.',
      'The secret is `macSecretBase64`, shown once when the webhook is created.',
      'Thirteen retries over a day, then notifications are disabled.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-airtable-content-mac',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'hmac-sha256=' },
    secretEncoding: 'base64',
  },
  event: {
    key: { hash: ['json:webhook.id', 'json:timestamp'] },
    type: 'const:ping',
    objectId: ['json:base.id', 'json:webhook.id'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  retryWindowHours: 48,
  answerWithinSeconds: 25,
  // Airtable accepts only 200 and 204, with an empty body.
  acceptedStatus: 204,
})
