import { provider } from '../provider.ts'

export const pylon = provider({
  provider: 'pylon',
  about: {
    name: 'Pylon',
    category: 'support',
    confidence: 'documented',
    evidence: [
      'https://getpylon.com/developers/guides/using-webhooks/ (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'where type and object are',
      'the tolerance',
      'that a retry repeats the body, and is signed again: an old date is rejected',
    ],
    notes: [
      'The events are documented only for customers. The key is the body.',
      'Five attempts over 31 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'pylon-webhook-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'hs256=' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'header:pylon-webhook-timestamp', unit: 's' },
  event: {
    key: 'body-hash',
    type: ['json:event_type', 'json:type'],
    objectId: 'json:data.id',
    object: 'json:data',
  },
  retryWindowHours: 3 * 24,
})
