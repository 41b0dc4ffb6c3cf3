import { provider } from '../provider.ts'

export const elevenlabs = provider({
  provider: 'elevenlabs',
  about: {
    name: 'ElevenLabs',
    category: 'ai',
    confidence: 'verified',
    evidence: [
      'npm:@elevenlabs/elevenlabs-js@2.73.0:wrapper (WebhooksClient.constructEvent)',
      'github.com/elevenlabs/elevenlabs-docs:fern/docs/pages/product-guides/administration/webhooks.mdx',
    ],
    unverified: ['`request_id`, if there is no conversation'],
    notes: [
      'Events are never retried: an event that is not acknowledged is lost. After 10 failures in a row the webhook is disabled.',
      'There is no id; the key is made of type, conversation and date.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'elevenlabs-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v0' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 1_800 },
  event: {
    key: [
      { hash: ['json:type', ['json:data.conversation_id', 'json:data.request_id'], 'json:event_timestamp'] },
      'body-hash',
    ],
    type: 'json:type',
    objectId: ['json:data.conversation_id', 'json:data.request_id'],
    occurredAt: { at: 'json:event_timestamp', unit: 's' },
    object: 'json:data',
  },
  retryWindowHours: 24,
  acceptedStatus: 200,
})
