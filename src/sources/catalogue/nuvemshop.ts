import { provider } from '../provider.ts'

/** Events that happen once to an object. Every other event may happen again with the same body. */
const ONCE = [
  'order/created',
  'product/created',
  'product/deleted',
  'category/created',
  'category/deleted',
  'customer/created',
  'customer/deleted',
]

export const nuvemshop = provider({
  provider: 'nuvemshop',
  about: {
    name: 'Nuvemshop (Tiendanube)',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://tiendanube.github.io/api-documentation/resources/webhook (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the client secret of the app.',
      'A delivery names only shop, event and object. An object is created and deleted once. Of every other event each delivery counts, including retries, because a second update has the same body.',
      'Retries end after 48 hours.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-linkedstore-hmac-sha256', encoding: 'hex' },
  event: {
    key: [
      { when: { 'json:event': ONCE }, key: { hash: ['json:store_id', 'json:event', 'json:id'] } },
      'each-delivery',
    ],
    type: 'json:event',
    objectId: ['json:id', 'json:store_id'],
  },
  retryWindowHours: 3 * 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
