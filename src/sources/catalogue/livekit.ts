import { provider } from '../provider.ts'

export const livekit = provider({
  provider: 'livekit',
  about: {
    name: 'LiveKit',
    category: 'realtime',
    confidence: 'verified',
    evidence: ['npm:livekit-server-sdk@2.19.2:dist/WebhookReceiver.js'],
    unverified: [
      'that `id` stays the same when the event is sent again',
      'the retries; hookonce assumes a week',
    ],
    notes: ['The secret is the API secret. The API key that issued the token is not checked.'],
  },
  signature: {
    algorithm: 'jwt',
    header: 'authorization',
    algorithms: ['HS256'],
    bodyHash: { claim: 'sha256', encoding: 'base64' },
  },
  event: {
    key: 'json:id',
    type: 'json:event',
    objectId: ['json:room.sid', 'json:participant.sid', 'json:egressInfo.egressId'],
    occurredAt: { at: 'json:createdAt', unit: 's' },
  },
})
