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
      'that GetHook passes on the id and type of the original sender',
      'how long it retries; hookonce assumes a week',
      'which status it accepts as success',
    ],
    notes: [
      'Deliveries are signed only if the destination has a signing secret.',
      'The id is that of the original sender, in a header or in the body as `event.id`. `X-Request-Id` is not used, because any proxy may replace it.',
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
