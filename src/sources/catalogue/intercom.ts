import { provider } from '../provider.ts'

export const intercom = provider({
  provider: 'intercom',
  about: {
    name: 'Intercom',
    category: 'support',
    confidence: 'documented',
    evidence: [
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
      'github.com/simstudioai/sim:apps/sim/lib/webhooks/providers/intercom.ts (secondary)',
    ],
    unverified: [
      'the one retry after a minute; hookonce assumes a day',
      'where the date of the event is',
      'the HEAD request and the `ping` when a webhook is set up',
    ],
    notes: [
      'The secret is the client secret of the app.',
      'A `ping` is recorded like any other event.',
      'An answer of 410 would end the subscription, so hookonce never sends it.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha1',
    header: 'x-hub-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha1=' },
  },
  event: {
    key: 'json:id',
    type: 'json:topic',
    objectId: 'json:data.item.id',
    occurredAt: { at: 'json:created_at', unit: 's' },
    object: 'json:data.item',
  },
  handshake: [{ method: 'HEAD', signed: false }],
  retryWindowHours: 24,
  answerWithinSeconds: 5,
})
