import { provider } from '../provider.ts'

export const twitch = provider({
  provider: 'twitch',
  about: {
    name: 'Twitch EventSub (webhook transport)',
    category: 'social',
    confidence: 'documented',
    evidence: [
      'npm:@twurple/eventsub-http@8.1.4:lib/EventSubHttpBase.js (community SDK)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['how long it retries; hookonce assumes a week'],
    notes: [
      'A revocation has the type of its subscription and no `event`. `subscription.status` gives the reason.',
      'The key is signed.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'twitch-eventsub-message-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
    content: '{header:twitch-eventsub-message-id}{timestamp}{body}',
  },
  timestamp: { at: 'header:twitch-eventsub-message-timestamp', unit: 'iso', toleranceSeconds: 600 },
  event: {
    key: 'header:twitch-eventsub-message-id',
    type: ['header:twitch-eventsub-subscription-type', 'json:subscription.type'],
    objectId: ['json:event.broadcaster_user_id', 'json:event.id', 'json:event.user_id'],
    occurredAt: { at: 'header:twitch-eventsub-message-timestamp', unit: 'iso' },
    object: 'json:event',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'header:twitch-eventsub-message-type': 'webhook_callback_verification' },
      signed: true,
      reply: { text: '{json:challenge}' },
    },
  ],
})
