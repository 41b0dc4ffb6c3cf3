import { provider } from '../provider.ts'

export const calendly = provider({
  provider: 'calendly',
  about: {
    name: 'Calendly',
    category: 'scheduling',
    confidence: 'documented',
    evidence: [
      'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures (cited by a secondary source)',
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Calendly/CalendlyTriggerHelpers.ts (secondary)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'the retries of 24 hours; hookonce assumes two days',
      'that event, object and date identify an event',
    ],
    notes: ['No event id is sent; the key is made of the event, the URI of its object and the date.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'calendly-webhook-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 180 },
  event: {
    key: { hash: ['json:event', 'json:payload.uri', 'json:created_at'] },
    type: 'json:event',
    objectId: 'json:payload.uri',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:payload',
  },
  retryWindowHours: 48,
  answerWithinSeconds: 10,
})
