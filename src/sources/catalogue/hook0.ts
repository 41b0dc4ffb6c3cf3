import { provider } from '../provider.ts'

export const hook0 = provider({
  provider: 'hook0',
  about: {
    name: 'Hook0 (gateway)',
    category: 'webhook-infra',
    confidence: 'verified',
    evidence: [
      'npm:hook0-client@1.1.0:dist/signature.js',
      'npm:hook0-client@1.1.0:dist/lib.js',
      'https://documentation.hook0.com/tutorials/webhook-authentication',
    ],
    unverified: ['the headers with id and type', 'the tolerance', 'the retries; hookonce assumes a week'],
    notes: [
      'The older `v0`, which signs no headers, is ignored.',
      'Id and type are signed if the header lists them (`h=`).',
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
  timestamp: { at: 'field:t', unit: 's' },
  event: { key: 'header:x-event-id', type: 'header:x-event-type' },
})
