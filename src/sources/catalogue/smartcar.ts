import { provider } from '../provider.ts'

export const smartcar = provider({
  provider: 'smartcar',
  about: {
    name: 'Smartcar',
    category: 'vehicles',
    confidence: 'verified',
    evidence: [
      'npm:smartcar@10.4.0:index.js',
      'https://smartcar.com/docs/integrations/webhooks/payload-verification (cited by a secondary source)',
      'github.com/garethx/webhook-skills@0fa21ba:skills/smartcar-webhooks/references/overview.md (secondary)',
    ],
    unverified: ['how long it retries; hookonce assumes a week'],
    notes: [
      'The secret is the Application Management Token.',
      'The SDK serialises the JSON again before hashing. hookonce verifies the bytes as received.',
      'Events may arrive in any order.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'sc-signature', encoding: 'hex' },
  event: {
    key: 'json:eventId',
    type: 'json:eventType',
    objectId: ['json:vehicleId', 'json:data.vehicle.id'],
    object: 'json:data',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'json:eventType': 'VERIFY' },
      signed: false,
      reply: {
        json: {
          challenge: { algorithm: 'hmac-sha256', of: '{json:data.challenge}', encoding: 'hex' },
        },
      },
    },
  ],
  answerWithinSeconds: 15,
})
