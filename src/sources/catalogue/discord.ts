import { provider } from '../provider.ts'

export const discord = provider({
  provider: 'discord',
  about: {
    name: 'Discord Webhook Events',
    category: 'communication',
    confidence: 'verified',
    evidence: [
      'npm:discord-interactions@4.4.0:dist/index.js',
      'github.com/discord/discord-api-docs:developers/events/webhook-events.mdx',
    ],
    notes: [
      'The secret is the public key of the application.',
      'Discord sends wrong signatures on purpose and expects 401.',
      'Events have no id: two events with equal bodies count as one. Interactions have an id, but expect their answer in the reply, so they are not supported.',
    ],
  },
  signature: {
    algorithm: 'ed25519',
    header: 'x-signature-ed25519',
    encoding: 'hex',
    content: '{timestamp}{body}',
  },
  timestamp: { at: 'header:x-signature-timestamp', unit: 's' },
  event: {
    key: ['json:id', 'body-hash'],
    type: 'json:event.type',
    objectId: ['json:event.data.id', 'json:event.data.user.id', 'json:event.data.guild.id'],
    occurredAt: { at: 'json:event.timestamp', unit: 'iso' },
    object: 'json:event.data',
  },
  handshake: [{ method: 'POST', when: { 'json:type': 0 }, signed: true, reply: { status: 204 } }],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
  acceptedStatus: 204,
})
