import { provider } from '../provider.ts'
import { severalSignatures } from '../schemes/several-signatures.ts'
import type { DigestSignature } from '../signature.ts'

const HEADER = 'x-cld-signature'

const SHA256: DigestSignature = {
  algorithm: 'sha256',
  header: HEADER,
  encoding: 'hex',
  format: { kind: 'bare', prefix: '' },
  content: '{body}{timestamp}{secret}',
  covers: 'body',
  secretEncoding: 'utf8',
  secretPrefix: '',
}

/** An account uses one of two hashes. The length of the signature shows which one. */
const code = severalSignatures([
  { signature: SHA256, isDated: true, claims: (delivery) => delivery.header(HEADER)?.length === 64 },
])

export const cloudinary = provider(
  {
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
        'that type, asset and date identify an event',
        'the 3 retries within 9 minutes; hookonce assumes a week',
      ],
      notes: [
        'The secret is the API secret. It is hashed together with the body, without an HMAC.',
        'An account uses SHA-1 (the default) or SHA-256. Both are accepted.',
      ],
    },
    signature: {
      algorithm: 'sha1',
      header: HEADER,
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
  },
  code,
)
