import { provider } from '../provider.ts'

export const notion = provider({
  provider: 'notion',
  about: {
    name: 'Notion',
    category: 'productivity',
    confidence: 'verified',
    evidence: [
      'npm:@notionhq/client@5.26.0:build/src/webhooks.js',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
    ],
    unverified: ['the retries of 24 hours; hookonce assumes two days', 'where the id of the object is'],
    notes: [
      'The secret is the verification token. The first, unsigned request contains it, and it is passed to `onSecret`. Enter it in the settings of the integration, and configure it here.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-notion-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: 'json:entity.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:entity',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:verification_token': true },
      signed: false,
      secret: 'json:verification_token',
    },
  ],
  retryWindowHours: 48,
})
