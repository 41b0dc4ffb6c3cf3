import { provider } from '../provider.ts'

export const sanity = provider({
  provider: 'sanity',
  about: {
    name: 'Sanity',
    category: 'cms',
    confidence: 'verified',
    evidence: [
      'npm:@sanity/webhook@4.0.4:dist/index.mjs',
      'github.com/sanity-io/webhook-toolkit:test/signature.test.ts',
      'https://www.sanity.io/docs/changelog/50ec6abf-fe0c-475b-ae72-314148860132.md',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the headers sanity-operation and sanity-document-id'],
    notes: [
      'The library does not check the date. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
      'The projection of the webhook defines the payload. Keep `_updatedAt` in it if the date matters.',
      'Two retries within a minute; hookonce assumes a day.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'sanity-webhook-signature',
    encoding: 'base64url',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 'ms' },
  event: {
    key: 'header:idempotency-key',
    type: 'header:sanity-operation',
    objectId: ['header:sanity-document-id', 'json:_id'],
    occurredAt: { at: 'json:_updatedAt', unit: 'iso' },
    version: { at: 'json:_updatedAt', unit: 'iso' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 30,
})
