import { provider } from '../provider.ts'

export const ringcentral = provider({
  provider: 'ringcentral',
  about: {
    name: 'RingCentral',
    category: 'communication',
    confidence: 'documented',
    evidence: [
      'https://developers.ringcentral.com/guide/notifications/webhooks/receiving',
      'https://developers.ringcentral.com/guide/notifications/webhooks/creating-webhooks',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Subscribe with a `verificationToken`; it is the secret. Notifications without it are rejected.',
      'An address that is slow or fails is blocked for 15 minutes or longer.',
    ],
  },
  signature: { algorithm: 'token', header: 'verification-token' },
  event: {
    key: 'json:uuid',
    type: 'json:event',
    objectId: 'json:ownerId',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:body',
  },
  handshake: [
    {
      method: 'POST',
      // A notification has a uuid, and must not be mistaken for a handshake.
      when: { 'header:validation-token': true, 'json:uuid': false },
      signed: false,
      reply: { headers: { 'validation-token': '{header:validation-token}' } },
    },
  ],
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
