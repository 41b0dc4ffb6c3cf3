import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const replicate = provider({
  provider: 'replicate',
  about: {
    name: 'Replicate',
    category: 'ai',
    confidence: 'verified',
    evidence: ['npm:replicate@1.4.0:lib/util.js', 'github.com/replicate/replicate-javascript:index.test.ts'],
    unverified: ['how long it retries; hookonce assumes a week'],
    notes: [
      'The payload is the prediction itself. The type is derived from its status: `prediction.succeeded`.',
      'Only the last event of a prediction is retried.',
      'The SDK does not check the date. hookonce rejects signatures older than 5 minutes, unless `toleranceSeconds` is set.',
    ],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: { join: ['const:prediction', 'json:status'], separator: '.' },
    objectId: 'json:id',
    occurredAt: { at: ['json:completed_at', 'json:started_at', 'json:created_at'], unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
})
