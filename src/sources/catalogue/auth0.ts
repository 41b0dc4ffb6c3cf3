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
      'Nothing is signed. The secret is the authorization token of the stream, exactly as entered there, including `Bearer ` if it is part of it.',
      'Records are sent as an array, one per line, or alone. All three are accepted.',
      'Three retries, over a time that is not documented; hookonce assumes a week.',
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
