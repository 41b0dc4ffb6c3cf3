import { provider } from '../provider.ts'

export const akeneo = provider({
  provider: 'akeneo',
  about: {
    name: 'Akeneo PIM (Events API)',
    category: 'commerce',
    confidence: 'documented',
    evidence: [
      'https://api.akeneo.com/events-documentation/security.html (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the identifier of the object'],
    notes: [
      'The secret is that of the connection. All events of a connection go to one URL, up to ten in a delivery.',
      'Akeneo does not retry. The newer Event Platform is another product and is not covered.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'x-akeneo-request-signature',
    encoding: 'hex',
    content: '{timestamp}.{body}',
  },
  timestamp: { at: 'header:x-akeneo-request-timestamp', unit: 's' },
  batch: 'json:events[]',
  event: {
    key: 'item:event_id',
    type: 'item:action',
    objectId: ['item:data.resource.uuid', 'item:data.resource.identifier', 'item:data.resource.code'],
    occurredAt: { at: 'item:event_datetime', unit: 'iso' },
  },
  retryWindowHours: 24,
  answerWithinSeconds: 0.5,
})
