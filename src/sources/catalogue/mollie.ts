import { provider } from '../provider.ts'

export const mollie = provider({
  provider: 'mollie',
  about: {
    name: 'Mollie (next-gen webhooks)',
    category: 'payments',
    confidence: 'verified',
    evidence: [
      'github.com/mollie/mollie-api-typescript:src/utils/webhooks/signature_validator.ts',
      'github.com/mollie/api-documentation:source/overview/webhooks.rst',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['where id, type, object and date of an event are'],
    notes: [
      'Classic webhooks (`id=tr_…` in a form) are not signed and not supported. They only name the payment to fetch.',
      'Ten attempts over 26 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-mollie-signature',
    encoding: 'hex',
    // A list: during a rotation the header is sent twice, and HTTP joins both with a comma.
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'sha256' },
  },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: 'json:entityId',
    occurredAt: { at: 'json:createdAt', unit: 'iso' },
  },
  retryWindowHours: 48,
  answerWithinSeconds: 15,
  acceptedStatus: 200,
})
