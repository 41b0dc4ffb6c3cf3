import { provider } from '../provider.ts'

export const webflow = provider({
  provider: 'webflow',
  about: {
    name: 'Webflow',
    category: 'cms',
    confidence: 'verified',
    evidence: [
      'npm:webflow-api@3.3.4:wrapper/WebhooksClient.js',
      'github.com/hookdeck/webhook-skills@f8a4801:skills/webflow-webhooks (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
    ],
    unverified: [
      'where the object is',
      '3 attempts, 10 minutes apart; hookonce assumes a week',
      'that a retry is signed again: an old date is rejected',
    ],
    notes: [
      'Webhooks created in the dashboard are not signed and are rejected: create them with the API.',
      'The secret is the client secret of the app, or the secret of the webhook.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-webflow-signature',
    encoding: 'hex',
    content: '{timestamp}:{body}',
  },
  timestamp: { at: 'header:x-webflow-timestamp', unit: 'ms' },
  event: {
    key: 'body-hash',
    type: 'json:triggerType',
    objectId: 'json:payload.id',
    occurredAt: { at: 'header:x-webflow-timestamp', unit: 'ms' },
    object: 'json:payload',
  },
  acceptedStatus: 200,
})
