import { provider } from '../provider.ts'

export const npmHooks = provider({
  provider: 'npm-hooks',
  about: {
    name: 'npm registry hooks',
    category: 'registry',
    confidence: 'verified',
    evidence: ['github.com/npm/npm-hook-receiver:index.js'],
    unverified: ['where the name of the package and the date are', 'the retries; hookonce assumes a week'],
    notes: ['There is no id; the key is made of event, name, payload and date, which is the whole body.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-npm-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'body-hash',
    type: 'json:event',
    objectId: 'json:name',
    occurredAt: { at: 'json:time', unit: 'ms' },
  },
})
