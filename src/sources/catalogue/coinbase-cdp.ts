import { provider } from '../provider.ts'

export const coinbaseCdp = provider({
  provider: 'coinbase-cdp',
  about: {
    name: 'Coinbase Developer Platform',
    category: 'payments',
    confidence: 'documented',
    evidence: [
      'https://docs.cdp.coinbase.com/api-reference/payment-apis/webhooks/verification',
      'https://documentation.hook0.com/tutorials/webhook-authentication',
    ],
    unverified: [
      'how the signed parts are joined: with a dot, as in Hook0, which sends for Coinbase',
      'where id and type of an event are',
    ],
    notes: [
      'The signature header lists the other signed headers.',
      'Retries are not documented; hookonce assumes a week.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-hook0-signature',
    encoding: 'hex',
    format: {
      kind: 'list',
      itemSeparator: ',',
      fieldSeparator: '=',
      signatureField: 'v1',
      headersField: 'h',
    },
    content: '{timestamp}.{signedHeaders}.{body}',
  },
  timestamp: { at: 'field:t', unit: 's', toleranceSeconds: 300 },
  event: { key: 'header:x-event-id', type: ['header:x-event-type', 'json:event_type'] },
  retryWindowHours: 7 * 24,
})
