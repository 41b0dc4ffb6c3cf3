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
    unverified: ['the three retries within 4 hours: a day is counted on'],
    notes: [
      'Nothing is signed. The secret is the passcode of the webhook, which stands in each body.',
      'Events carry no id: the key is made of webhook, event, file and date.',
      'A `PING` when the webhook is made is an event like any other.',
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
