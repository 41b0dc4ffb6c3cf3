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
      'retries every 15 minutes and then later: a week is counted on',
      'that a retry is signed anew: an old date is refused',
    ],
    notes: [
      'The body is not signed, only the `data.id` of the query: fetch the object by its id from the API before you act on it.',
      'A delivery without `data.id` in its query or without X-Request-Id is refused, though the SDK would take it; QR code notifications are not signed, and refused.',
      'Its documents lower-case ids of letters; the SDK takes them as they come, and so does this.',
      'The SDK judges no date unless told to; here a signature is refused after 5 minutes.',
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
