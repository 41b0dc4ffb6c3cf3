import { provider } from '../provider.ts'

export const clio = provider({
  provider: 'clio',
  about: {
    name: 'Clio Manage',
    category: 'legal',
    confidence: 'documented',
    evidence: [
      'https://docs.developers.clio.com/api-reference/#tag/Webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary; the encoding was seen on a delivery)',
    ],
    unverified: ['how long it retries; hookonce assumes a week'],
    notes: [
      'The handshake of each webhook contains its secret, which is passed to `onSecret`. Store it and configure it.',
      'Ask for the field `etag` when you create the webhook: events are told apart by it. Without it, each delivery of an update is an event, including retries.',
      'A webhook expires after 3 days, or after 31 at most. Renew it.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-hook-signature', encoding: 'hex' },
  event: {
    key: [
      { hash: ['json:meta.webhook_id', 'json:meta.event', 'json:data.id', 'json:data.etag'] },
      {
        when: { 'json:meta.event': ['created', 'deleted'] },
        key: { hash: ['json:meta.webhook_id', 'json:meta.event', 'json:data.id'] },
      },
      'each-delivery',
    ],
    type: 'json:meta.event',
    objectId: 'json:data.id',
    object: 'json:data',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'header:x-hook-secret': true },
      signed: false,
      secret: 'header:x-hook-secret',
      reply: { headers: { 'x-hook-secret': '{header:x-hook-secret}' } },
    },
  ],
  acceptedStatus: 200,
})
