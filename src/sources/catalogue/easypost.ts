import { provider } from '../provider.ts'

export const easypost = provider({
  provider: 'easypost',
  about: {
    name: 'EasyPost',
    category: 'shipping',
    confidence: 'verified',
    evidence: [
      'npm:@easypost/api@8.9.0:src/utils/util.js',
      'github.com/EasyPost/easypost-node:test/services/webhook.test.js',
      'github.com/EasyPost/examples:official/fixtures/client-library-fixtures.json',
    ],
    unverified: [
      'the 6 attempts and the time to answer in: a week is counted on',
      'the newer header X-Hmac-Signature-V2, which is not read',
    ],
    notes: [
      'The SDK writes a whole `weight` as `N.0` before it hashes, for bodies that were parsed and written again; the bytes as they came need no such mending.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hmac-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'hmac-sha256-hex=' },
    secretEncoding: 'utf8-nfkd',
  },
  event: {
    key: 'json:id',
    type: 'json:description',
    objectId: 'json:result.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:result',
  },
  answerWithinSeconds: 7,
})
