import { provider } from '../provider.ts'

export const microsoftGraph = provider({
  provider: 'microsoft-graph',
  about: {
    name: 'Microsoft Graph change notifications',
    category: 'productivity',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    notes: [
      'The secret is the `clientState` of the subscription. It is sent with each notification, and nothing is signed.',
      'Many notifications have no id. They are distinguished by the version (`@odata.etag`) of the resource. A notification with neither only states that something changed: each delivery of it is an event, including retries.',
      'Rich notifications, which contain encrypted content, are recorded as received and not decrypted.',
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
