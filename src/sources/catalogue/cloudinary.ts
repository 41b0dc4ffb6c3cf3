import { provider } from '../provider.ts'

export const cloudinary = provider({
  provider: 'cloudinary',
  about: {
    name: 'Cloudinary',
    category: 'media',
    confidence: 'verified',
    evidence: [
      'npm:cloudinary@2.11.0:lib/utils/index.js',
      'github.com/cloudinary/cloudinary_npm:test/utils/utils_spec.js',
    ],
    unverified: [
      'that type, asset and date name an event',
      'the 3 retries within 9 minutes: a week is counted on',
    ],
    notes: [
      'The secret is the API secret. It is hashed with the body, no HMAC.',
      'An account that is set to SHA-256 is refused: its signature is longer.',
    ],
  },
  signature: {
    algorithm: 'sha1',
    header: 'x-cld-signature',
    encoding: 'hex',
    content: '{body}{timestamp}{secret}',
  },
  timestamp: { at: 'header:x-cld-timestamp', unit: 's', toleranceSeconds: 7_200 },
  event: {
    key: [
      { hash: ['json:notification_type', ['json:asset_id', 'json:public_id'], 'json:timestamp'] },
      { hash: ['json:notification_type', ['json:request_id', 'json:notification_context.request_id']] },
      'body-hash',
    ],
    type: 'json:notification_type',
    objectId: ['json:asset_id', 'json:public_id'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  acceptedStatus: 200,
})
