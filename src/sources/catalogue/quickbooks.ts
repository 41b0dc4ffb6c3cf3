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
      'what identifies an event, especially in the newer CloudEvents form',
      'the retries of about 4 hours; hookonce assumes a week',
    ],
    notes: [
      'The secret is the verifier token of the webhook.',
      'Entities have no event id; the key is made of company, entity, operation and date. In the newer CloudEvents form it is made of id and source of the event.',
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
