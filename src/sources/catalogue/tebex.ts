import { provider } from '../provider.ts'

export const tebex = provider({
  provider: 'tebex',
  about: {
    name: 'Tebex',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://docs.tebex.io/developers/webhooks/overview (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'that `id` is the same at each attempt',
      'the id of the object',
      'the retries; hookonce assumes a week',
    ],
    notes: ['The HMAC is made of the SHA-256 of the body, as hexadecimal text.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-signature',
    encoding: 'hex',
    content: '{bodySha256}',
  },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:subject.transaction_id', 'json:subject.reference'],
    occurredAt: { at: 'json:date', unit: 'iso' },
    object: 'json:subject',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:type': 'validation.webhook' },
      // Whether it is signed is not documented. The answer contains nothing but its own id.
      signed: false,
      reply: { json: { id: '{json:id}' } },
    },
  ],
  acceptedStatus: 200,
})
