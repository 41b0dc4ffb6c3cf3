import type { EnvelopeProvider } from '../envelope-provider.ts'
import { clerkEventTypes } from '../event-types/clerk.ts'
import { typedProvider } from '../provider.ts'
import type { ListedType } from '../typed-events.ts'
import { standardSignature } from './standard-webhooks.ts'

export const clerk: EnvelopeProvider<ClerkEventType> = typedProvider({
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
    types: clerkEventTypes,
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 15,
})

/** The types of this version's list, for completion. Any other type is allowed. */
export type ClerkEventType = ListedType<typeof clerkEventTypes> | (string & {})
