import { provider } from '../provider.ts'

export const meraki = provider({
  provider: 'meraki',
  about: {
    name: 'Cisco Meraki',
    category: 'observability',
    confidence: 'documented',
    evidence: [
      'https://developer.cisco.com/meraki/webhooks/introduction/#shared-secret (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that a retry repeats `alertData` and `occurredAt`', 'the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. The shared secret is sent inside the body and recorded with it.',
      'For the default payload. With a template of your own use `custom()`.',
      'There is no event id; the key is made of alert, network, date and data.',
    ],
  },
  signature: { algorithm: 'token', at: 'json:sharedSecret' },
  event: {
    key: [
      {
        hash: ['json:alertTypeId', 'json:networkId', 'json:occurredAt', { textOf: 'json:alertData' }],
        optional: ['json:alertId', 'json:deviceSerial'],
      },
      'body-hash',
    ],
    type: 'json:alertTypeId',
    objectId: ['json:deviceSerial', 'json:networkId'],
    occurredAt: { at: 'json:occurredAt', unit: 'iso' },
    object: 'json:alertData',
  },
})
