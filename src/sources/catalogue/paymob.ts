import { provider } from '../provider.ts'

// The signed fields, in this order and without separators.
const SIGNED = [
  'amount_cents',
  'created_at',
  'currency',
  'error_occured',
  'has_parent_transaction',
  'id',
  'integration_id',
  'is_3d_secure',
  'is_auth',
  'is_capture',
  'is_refunded',
  'is_standalone_payment',
  'is_voided',
  'order.id',
  'owner',
  'pending',
  'source_data.pan',
  'source_data.sub_type',
  'source_data.type',
  'success',
]

export const paymob = provider({
  provider: 'paymob',
  about: {
    name: 'Paymob (transaction processed callback)',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://developers.paymob.com/paymob-docs/developers/webhook-callbacks-and-hmac/hmac/hmac-transaction-callback (cited by a secondary source)',
      'https://hex.pm/packages/ex_paymob/0.1.1/files/lib/ex_paymob/webhook.ex (secondary)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'how an absent value is signed: hookonce takes it as empty',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'Twenty fields are signed, not the body. Fetch the transaction by its id from the API before you use any other field.',
      'There is no event id; the key is made of the transaction and its state.',
      'Other callbacks (tokens, deliveries, the redirect of the browser) are signed differently and are rejected.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha512',
    at: 'query:hmac',
    encoding: 'hex',
    content: SIGNED.map((field) => `{json:obj.${field}}`).join(''),
    covers: 'not-body',
  },
  event: {
    key: {
      hash: [
        'json:type',
        'json:obj.id',
        'json:obj.success',
        'json:obj.pending',
        'json:obj.error_occured',
        'json:obj.is_auth',
        'json:obj.is_capture',
        'json:obj.is_refunded',
        'json:obj.is_voided',
      ],
      optional: ['json:obj.refunded_amount_cents', 'json:obj.captured_amount'],
    },
    type: 'json:type',
    objectId: 'json:obj.id',
    occurredAt: { at: 'json:obj.created_at', unit: 'iso' },
    object: 'json:obj',
  },
  acceptedStatus: 200,
})
