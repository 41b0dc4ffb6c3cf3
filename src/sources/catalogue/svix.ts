import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const svix = provider({
  provider: 'svix',
  about: {
    name: 'Svix',
    category: 'webhook-infra',
    confidence: 'verified',
    evidence: ['npm:svix@1.99.1:dist/webhook.js'],
    notes: [
      'For senders that use Svix and are not in the catalogue by name.',
      'It retries for 28 hours, and people can resend later; hookonce assumes a week.',
    ],
  },
  ...standardSignature('svix'),
  event: {
    key: 'header:svix-id',
    type: ['json:type', 'json:event_type', 'json:eventType'],
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: ['json:data'],
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 15,
})
