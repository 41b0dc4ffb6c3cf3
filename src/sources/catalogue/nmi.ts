import { provider } from '../provider.ts'

export const nmi = provider({
  provider: 'nmi',
  about: {
    name: 'NMI',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://docs.nmi.com/reference/overview (cited by a secondary source)',
      'github.com/garethx/webhook-skills@e483cb7:skills/nmi-webhooks/references/verification.md (secondary)',
    ],
    unverified: ['the id of the transaction', 'the retries; hookonce assumes a week'],
    notes: [
      'The secret is the signing key of the webhooks, not the security key of the API.',
      'The item `t` of the signature is a random text and no date, so the age is not checked.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'webhook-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 's' },
    content: '{field:t}.{body}',
  },
  event: {
    key: 'json:event_id',
    type: 'json:event_type',
    objectId: 'json:event_body.transaction_id',
    object: 'json:event_body',
  },
  acceptedStatus: 200,
})
