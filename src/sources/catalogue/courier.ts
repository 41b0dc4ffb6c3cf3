import { provider } from '../provider.ts'

export const courier = provider({
  provider: 'courier',
  about: {
    name: 'Courier',
    category: 'notifications',
    confidence: 'documented',
    evidence: [
      'https://www.courier.com/docs/platform/workspaces/outbound-webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'the tolerance',
      'that a retry repeats the body, and is signed again: an old date is rejected',
      'the retries; hookonce assumes a week',
    ],
    notes: [
      'There is no id; the key is the body. A `message:updated` contains the status and the dates of the message.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'courier-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'signature' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 'ms' },
  event: { key: 'body-hash', type: 'json:type', objectId: 'json:data.id', object: 'json:data' },
  acceptedStatus: 200,
})
