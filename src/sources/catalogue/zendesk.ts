import { provider } from '../provider.ts'

export const zendesk = provider({
  provider: 'zendesk',
  about: {
    name: 'Zendesk',
    category: 'support',
    confidence: 'documented',
    evidence: [
      'https://developer.zendesk.com/documentation/webhooks/verifying/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Zendesk/ZendeskTriggerHelpers.ts (secondary)',
    ],
    notes: [
      'Webhooks of event subscriptions name the event in the body. Webhooks of triggers and automations send a body that you define, in which `id` may be a ticket. Their key is the id of the invocation.',
      'Tests from the admin centre are signed with a fixed, public secret and are rejected.',
      'No tolerance is documented. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-zendesk-webhook-signature',
    encoding: 'base64',
    content: '{timestamp}{body}',
  },
  timestamp: { at: 'header:x-zendesk-webhook-signature-timestamp', unit: 'iso' },
  event: {
    key: [{ hash: ['json:type', 'json:id', 'json:time'] }, 'header:x-zendesk-webhook-invocation-id'],
    type: 'json:type',
    objectId: ['json:detail.id', 'json:subject'],
    occurredAt: { at: 'json:time', unit: 'iso' },
  },
  answerWithinSeconds: 12,
})
