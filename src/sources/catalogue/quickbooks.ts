import { provider } from '../provider.ts'

export const quickbooks = provider({
  provider: 'quickbooks',
  about: {
    name: 'Intuit QuickBooks Online',
    category: 'accounting',
    confidence: 'verified',
    evidence: [
      'github.com/IntuitDeveloper/SampleApp-Webhooks-nodejs:util/util.js',
      'github.com/IntuitDeveloper/SampleApp-Webhooks-nodejs:routes/routes.js',
    ],
    unverified: [
      'what names an event, above all in the newer form of CloudEvents',
      'the retries of some 4 hours: a week is counted on',
    ],
    notes: [
      'The secret is the verifier token of the webhook.',
      'Entities carry no event id: the key is made of company, entity, operation and date. In the newer form (CloudEvents) it is the id of the event with its source.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'intuit-signature', encoding: 'base64' },
  batch: ['json:eventNotifications[].dataChangeEvent.entities[]', 'json:[]'],
  event: {
    key: [
      {
        hash: [
          'json:eventNotifications.0.realmId',
          'item:name',
          'item:id',
          'item:operation',
          'item:lastUpdated',
        ],
      },
      { hash: ['item:specversion', 'item:source', 'item:id'] },
    ],
    type: { join: [['item:name', 'item:type'], 'item:operation'], separator: '.' },
    objectId: 'item:id',
    occurredAt: { at: ['item:lastUpdated', 'item:time'], unit: 'iso' },
    version: { at: 'item:lastUpdated', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 3,
  acceptedStatus: 200,
})
