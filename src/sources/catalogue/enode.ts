import { provider } from '../provider.ts'

export const enode = provider({
  provider: 'enode',
  about: {
    name: 'Enode',
    category: 'energy',
    confidence: 'documented',
    evidence: [
      'https://developers.enode.com/docs/webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that `X-Enode-Delivery` is the same at a retry: hookonce does not use it'],
    notes: [
      'The secret is the one that you chose when you created the webhook.',
      'Events have no id; the key is the event as written, with its date.',
      'Retries end after 24 hours. Then the webhook is inactive.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha1',
    header: 'x-enode-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha1=' },
  },
  batch: 'json:[]',
  event: {
    key: 'item-hash',
    type: 'item:event',
    objectId: [
      'item:vehicle.id',
      'item:charger.id',
      'item:battery.id',
      'item:hvac.id',
      'item:inverter.id',
      'item:meter.id',
      'item:user.id',
    ],
    occurredAt: { at: 'item:createdAt', unit: 'iso' },
  },
  retryWindowHours: 48,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
