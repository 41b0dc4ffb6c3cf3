import { provider } from '../provider.ts'

export const mercadopago = provider({
  provider: 'mercadopago',
  about: {
    name: 'Mercado Pago',
    category: 'payments',
    confidence: 'verified',
    evidence: ['npm:mercadopago@3.6.1:dist/utils/webhook/index.js'],
    unverified: [
      'the fields of the payload',
      'retries every 15 minutes and then later; hookonce assumes a week',
      'that a retry is signed again: an old date is rejected',
    ],
    notes: [
      'Only `data.id` of the query is signed, not the body. Fetch the object by its id from the API before you act on it.',
      'A delivery without `data.id` in its query or without X-Request-Id is rejected, although the SDK would accept it. QR code notifications are not signed and are rejected.',
      'The documents convert alphabetic ids to lower case. The SDK does not, and neither does hookonce.',
      'The SDK does not check the date by default. hookonce rejects signatures older than 5 minutes.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: 'id:{query:data.id};request-id:{header:x-request-id};ts:{timestamp};',
    covers: 'not-body',
  },
  timestamp: { at: 'field:ts', unit: 's' },
  event: {
    key: 'json:id',
    type: ['json:action', 'json:type'],
    objectId: 'json:data.id',
    occurredAt: { at: 'json:date_created', unit: 'iso' },
    object: 'json:data',
  },
  answerWithinSeconds: 22,
  acceptedStatus: 200,
})
