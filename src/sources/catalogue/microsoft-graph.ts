import { provider } from '../provider.ts'

export const microsoftGraph = provider({
  provider: 'microsoft-graph',
  about: {
    name: 'Microsoft Graph change notifications',
    category: 'productivity',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    notes: [
      'The secret is the `clientState` of the subscription; it travels with each notification and nothing is signed.',
      'Many notifications have no id. They are told apart by the version (`@odata.etag`) of the resource. One without either says only that something changed: each delivery of it is an event, a retry too.',
      'Rich notifications, which bring encrypted content, are recorded as they come and not decrypted.',
    ],
  },
  signature: { algorithm: 'token', at: 'item:clientState' },
  batch: 'json:value[]',
  signedPer: 'event',
  event: {
    key: [
      'item:id',
      {
        hash: ['item:subscriptionId', 'item:changeType', 'item:resource', 'item:resourceData.@odata\\.etag'],
      },
      'each-delivery',
    ],
    type: ['item:changeType', 'item:lifecycleEvent'],
    objectId: 'item:resourceData.id',
  },
  handshake: [
    {
      method: 'POST',
      when: { 'query:validationToken': true },
      signed: false,
      reply: { text: '{query:validationToken}' },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 3,
})
