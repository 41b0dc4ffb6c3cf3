import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const clerk = provider({
  provider: 'clerk',
  about: {
    name: 'Clerk',
    category: 'auth',
    confidence: 'verified',
    evidence: [
      'npm:@clerk/backend@3.20.1:dist/webhooks.js',
      'github.com/clerk/clerk-docs:docs/guides/development/webhooks/overview.mdx',
    ],
    unverified: ['where the date of the event is'],
    notes: [
      'Sent by Svix, which retries for 28 hours and lets people resend later; hookonce assumes a week.',
    ],
  },
  ...standardSignature('svix'),
  apiKeys: {
    prefixes: ['sk_live_', 'sk_test_', 'pk_live_', 'pk_test_'],
    advice: 'copy the signing secret of the webhook endpoint, which begins with whsec_',
  },
  event: {
    key: 'header:svix-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'ms' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 15,
})
