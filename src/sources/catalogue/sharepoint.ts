import { provider } from '../provider.ts'

export const sharepoint = provider({
  provider: 'sharepoint',
  about: {
    name: 'Microsoft SharePoint (list webhooks)',
    category: 'storage',
    confidence: 'documented',
    evidence: [
      'https://learn.microsoft.com/en-us/sharepoint/dev/apis/webhooks/overview-sharepoint-webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      'The secret is the `clientState` of the subscription. It is sent with each notification, and nothing is signed.',
      'A notification only states that a list has changes. Every delivery is a separate event, including retries. Fetch the changes with GetChanges.',
      'Five retries, 5 minutes apart. A subscription ends after 180 days at most.',
    ],
  },
  signature: { algorithm: 'token', at: 'item:clientState' },
  batch: 'json:value[]',
  signedPer: 'event',
  event: { key: 'each-delivery', type: 'const:list.changed', objectId: 'item:resource' },
  handshake: [
    {
      method: 'POST',
      when: { 'query:validationtoken': true },
      signed: false,
      reply: { text: '{query:validationtoken}' },
    },
  ],
  retryWindowHours: 24,
  answerWithinSeconds: 5,
  acceptedStatus: 200,
})
