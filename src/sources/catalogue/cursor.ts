import { provider } from '../provider.ts'

export const cursor = provider({
  provider: 'cursor',
  about: {
    name: 'Cursor (cloud agents)',
    category: 'ai',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/hookdeck/webhook-skills@f8a4801:skills/cursor-webhooks (secondary)',
    ],
    unverified: [
      'the header with the id',
      'where type, object and date are',
      'the retries; hookonce assumes a week',
    ],
    notes: ['Id and type are in headers, which are not signed.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-webhook-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'header:x-webhook-id',
    type: ['header:x-webhook-event', 'json:event'],
    objectId: 'json:id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
})
