import { provider } from '../provider.ts'

export const auth0 = provider({
  provider: 'auth0',
  about: {
    name: 'Auth0 log streams',
    category: 'auth',
    confidence: 'documented',
    evidence: [
      'github.com/auth0/docs:articles/logs/streams/http-event.md',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['where id, type and user of a record are'],
    notes: [
      'Nothing is signed. The secret is the authorization token of the stream, exactly as it is entered there, with `Bearer ` if that is part of it.',
      'Records come as an array, one a line or alone; all are taken.',
      'Three retries, over a time that is not stated: a week is counted on.',
    ],
  },
  signature: { algorithm: 'token', header: 'authorization' },
  batch: 'lines',
  event: {
    key: ['item:log_id', 'item:data.log_id'],
    type: 'item:data.type',
    objectId: 'item:data.user_id',
    occurredAt: { at: 'item:data.date', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
})
