import { provider } from '../provider.ts'

export const box = provider({
  provider: 'box',
  about: {
    name: 'Box (V2 webhooks)',
    category: 'storage',
    confidence: 'verified',
    evidence: [
      'npm:box-node-sdk@10.12.0:src/internal/utilsNode.ts',
      'npm:box-node-sdk@10.12.0:src/managers/webhooks.ts',
      'github.com/box/developer.box.com:content/guides/webhooks/v2/index.md',
      'github.com/box/developer.box.com:content/guides/webhooks/v2/signatures-v2.md',
    ],
    notes: [
      'List the primary and the secondary signature key as secrets: either may have signed.',
      'Version 1 with HMAC-SHA256 is the only existing scheme, and the only accepted one.',
      'The SDK also tries the body with its characters escaped; hookonce verifies the bytes as received.',
      'The key is the `id` of the body: `BOX-DELIVERY-ID` is new at each attempt.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: ['box-signature-primary', 'box-signature-secondary'],
    encoding: 'base64',
    content: '{body}{timestamp}',
  },
  timestamp: { at: 'header:box-delivery-timestamp', unit: 'iso', toleranceSeconds: 600 },
  event: {
    key: 'json:id',
    type: 'json:trigger',
    objectId: 'json:source.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:source',
  },
  retryWindowHours: 24,
  answerWithinSeconds: 30,
})
