import { provider } from '../provider.ts'

export const bunnyStream = provider({
  provider: 'bunny-stream',
  about: {
    name: 'Bunny Stream',
    category: 'media',
    confidence: 'documented',
    evidence: [
      'https://docs.bunny.net/stream/webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'The secret is the read-only API key of the video library.',
      'A delivery names only video and status, and a status may be reached again. Every delivery is a separate event, including retries.',
      'The type is the number of the status: 3 is finished, 5 is failed.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-bunnystream-signature', encoding: 'hex' },
  event: { key: 'each-delivery', type: 'json:Status', objectId: 'json:VideoGuid' },
  acceptedStatus: 200,
})
