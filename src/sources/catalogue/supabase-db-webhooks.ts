import { provider } from '../provider.ts'

export const supabaseDbWebhooks = provider({
  provider: 'supabase-db-webhooks',
  about: {
    name: 'Supabase Database Webhooks',
    category: 'database',
    confidence: 'uncertain',
    evidence: ['npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)'],
    unverified: ['where the id of the row is', 'retries: a week is counted on'],
    notes: [
      'Nothing is signed: give the webhook a header `Authorization: Bearer …`, and that is the secret.',
      'There is no id and no date: a row that is written twice in the same way is one event, unless it has a column that tells.',
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
