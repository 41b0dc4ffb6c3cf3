import { provider } from '../provider.ts'

export const supabaseDbWebhooks = provider({
  provider: 'supabase-db-webhooks',
  about: {
    name: 'Supabase Database Webhooks',
    category: 'database',
    confidence: 'uncertain',
    evidence: ['npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)'],
    unverified: ['where the id of the row is', 'the retries; hookonce assumes a week'],
    notes: [
      'Nothing is signed. Give the webhook a header `Authorization: Bearer …`; the token is the secret.',
      'There is no id and no date: a row that is written twice with the same values counts as one event, unless a column differs.',
    ],
  },
  signature: { algorithm: 'token', header: 'authorization', prefix: 'Bearer ' },
  event: {
    key: 'body-hash',
    type: { join: ['json:table', 'json:type'], separator: '.' },
    objectId: ['json:record.id', 'json:old_record.id'],
    object: ['json:record', 'json:old_record'],
  },
})
