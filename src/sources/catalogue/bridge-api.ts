import { provider } from '../provider.ts'

export const bridgeApi = provider({
  provider: 'bridge-api',
  about: {
    name: 'Bridge API (bridgeapi.io, open banking)',
    category: 'fintech',
    confidence: 'documented',
    evidence: [
      'https://docs.bridgeapi.io/docs/secure-your-webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the unit of the date in the body', 'that a retry repeats the body'],
    notes: [
      'This is not bridge.xyz: use `bridgeXyz()` for that.',
      'There is no id; the key is the body, which contains type, content and date.',
      'Retries end after 1 to 2 days. After a rotation both secrets sign for 24 hours.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'bridgeapi-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
  },
  event: {
    key: 'body-hash',
    type: 'json:type',
    objectId: [
      'json:content.payment_transaction_id',
      'json:content.payment_link_id',
      'json:content.account_id',
      'json:content.item_id',
      'json:content.user_uuid',
    ],
    object: 'json:content',
  },
  retryWindowHours: 3 * 24,
  acceptedStatus: 200,
})
