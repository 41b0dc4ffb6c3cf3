import { provider } from '../provider.ts'

/** Events that an order may have several times, with bodies that contain no id or date. */
const REPEATED = ['ORDER_PAYMENT_AUTHENTICATED', 'ORDER_PAYMENT_DECLINED', 'ORDER_PAYMENT_FAILED']

export const revolut = provider({
  provider: 'revolut',
  about: {
    name: 'Revolut (Merchant/Business)',
    category: 'fintech',
    confidence: 'documented',
    evidence: [
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'https://developer.revolut.com/docs/api/merchant/operations/webhook-webhook-event.md',
    ],
    unverified: ['where object and date are'],
    notes: [
      'The whole `wsk_…` text is the key.',
      'There is no id; the key is made of event, order and, if present, date and data.',
      'The payments of one order may be declined, fail or be authenticated several times. Those deliveries differ only in the time of sending, so each delivery is an event, including retries.',
      'Three retries, 10 minutes apart; hookonce assumes a day.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'revolut-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: 'v1.{timestamp}.{body}',
  },
  timestamp: { at: 'header:revolut-request-timestamp', unit: 'ms' },
  event: {
    key: [
      { when: { 'json:event': REPEATED }, key: 'each-delivery' },
      {
        hash: ['json:event', ['json:order_id', 'json:payout_id', 'json:dispute_id', 'json:data.id']],
        optional: ['json:timestamp', { textOf: 'json:data' }],
      },
    ],
    type: 'json:event',
    objectId: ['json:order_id', 'json:payout_id', 'json:dispute_id', 'json:data.id'],
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
  },
  retryWindowHours: 24,
})
