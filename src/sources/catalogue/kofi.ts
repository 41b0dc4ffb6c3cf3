import { provider } from '../provider.ts'

export const kofi = provider({
  provider: 'kofi',
  about: {
    name: 'Ko-fi',
    category: 'commerce',
    confidence: 'uncertain',
    evidence: ['from memory: no source was found'],
    unverified: ['everything: no source confirms it', 'the retries; hookonce assumes a week'],
    notes: [
      'Each body contains the secret itself, and nothing is signed. The secret is recorded with the event, so protect the ledger like the secret.',
    ],
  },
  signature: { algorithm: 'token', at: 'json:verification_token' },
  body: { form: 'data' },
  event: {
    key: 'json:message_id',
    type: 'json:type',
    objectId: 'json:kofi_transaction_id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  acceptedStatus: 200,
})
