import { provider } from '../provider.ts'

export const typeform = provider({
  provider: 'typeform',
  about: {
    name: 'Typeform',
    category: 'forms',
    confidence: 'documented',
    evidence: [
      'https://www.typeform.com/developers/webhooks/secure-your-webhooks/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Typeform/TypeformTriggerHelpers.ts (secondary)',
    ],
    unverified: ['the time limit for an answer'],
    notes: ['It retries for 10 hours. 404 and 410 disable the webhook at once.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'typeform-signature',
    encoding: 'base64',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'json:event_id',
    type: 'json:event_type',
    objectId: ['json:form_response.token', 'json:form_response.form_id'],
    occurredAt: { at: 'json:form_response.submitted_at', unit: 'iso' },
    object: 'json:form_response',
  },
  retryWindowHours: 24,
  answerWithinSeconds: 30,
})
