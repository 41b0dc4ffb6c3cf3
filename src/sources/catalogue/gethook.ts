import { provider } from '../provider.ts'

export const gethook = provider({
  provider: 'gethook',
  about: {
    name: 'GetHook',
    category: 'webhook-infra',
    confidence: 'documented',
    evidence: [
      'https://docs.gethook.to/guide/authentication.html',
      'https://docs.gethook.to/reference/ingest.html',
      'https://docs.gethook.to/reference/destinations.html',
    ],
    unverified: [
      'that the id and type which a sender gave to GetHook come along to its destinations',
      'how long it retries: a week is counted on',
      'which status it takes for success',
    ],
    notes: [
      'Deliveries are signed only where the destination has a signing secret.',
      'The id is the one that the first sender gave, in a header or in the body as `event.id`. `X-Request-Id` is not read: any proxy on the way may set it anew.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'webhook-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 300 },
  event: {
    key: ['header:x-webhook-id', 'header:x-event-id', 'header:idempotency-key', 'json:event.id'],
    type: ['header:x-event-type', 'json:event.type'],
  },
  answerWithinSeconds: 30,
})
