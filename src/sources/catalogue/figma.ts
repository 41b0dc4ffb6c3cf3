import { provider } from '../provider.ts'

export const figma = provider({
  provider: 'figma',
  about: {
    name: 'Figma',
    category: 'design',
    confidence: 'documented',
    evidence: [
      'npm:@figma/rest-api-spec@0.43.0:dist/api_types.ts',
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Figma/FigmaTriggerHelpers.ts (secondary)',
    ],
    unverified: ['the three retries within 4 hours; hookonce assumes a day'],
    notes: [
      'Nothing is signed. The secret is the passcode of the webhook, which is part of each body.',
      'Events have no id; the key is made of webhook, event, file and date.',
      'The `PING` at creation of the webhook is recorded like any other event.',
    ],
  },
  signature: { algorithm: 'token', at: 'json:passcode' },
  event: {
    key: {
      hash: ['json:webhook_id', 'json:event_type', 'json:timestamp'],
      // A PING has no file.
      optional: ['json:file_key', 'json:comment_id'],
    },
    type: 'json:event_type',
    objectId: ['json:file_key', 'json:comment_id'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  retryWindowHours: 24,
  acceptedStatus: 200,
})
