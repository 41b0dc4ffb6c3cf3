import { provider } from '../provider.ts'

export const kofi = provider({
  provider: 'kofi',
  about: {
    name: 'Ko-fi',
    category: 'commerce',
    confidence: 'uncertain',
    evidence: ['recalled: no source was found'],
    unverified: ['everything: it was not seen in any source', 'retries: a week is counted on'],
    notes: [
      'The secret itself is in each delivery; the body is not signed. It is recorded with the event: keep the ledger as safe as the secret.',
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
