import { provider } from '../provider.ts'

export const honeybadger = provider({
  provider: 'honeybadger',
  about: {
    name: 'Honeybadger',
    category: 'observability',
    confidence: 'uncertain',
    evidence: ['from memory: no source was found'],
    unverified: ['everything: no source confirms it', 'the retries; hookonce assumes a week'],
    notes: ['The secret itself is sent with each delivery. The body is not signed.'],
  },
  signature: { algorithm: 'token', header: 'honeybadger-token' },
  event: {
    key: [{ hash: ['json:event', 'json:fault.id', 'json:notice.id'] }, 'body-hash'],
    type: 'json:event',
    objectId: 'json:fault.id',
    occurredAt: { at: ['json:notice.created_at', 'json:fault.last_notice_at'], unit: 'iso' },
    object: 'json:fault',
  },
})
