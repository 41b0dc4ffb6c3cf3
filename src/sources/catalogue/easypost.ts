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
      'the 6 attempts and the time limit for an answer; hookonce assumes a week',
      'the newer header X-Hmac-Signature-V2, which hookonce does not read',
    ],
    notes: [
      'Before hashing, the SDK rewrites an integer `weight` as `N.0`, to repair bodies that were parsed and serialised again. The bytes as received need no repair.',
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
