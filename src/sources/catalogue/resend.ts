import type { EnvelopeProvider } from '../envelope-provider.ts'
import { resendEventTypes } from '../event-types/resend.ts'
import { typedProvider } from '../provider.ts'
import type { ListedType } from '../typed-events.ts'
import { standardSignature } from './standard-webhooks.ts'

export const resend: EnvelopeProvider<ResendEventType> = typedProvider({
  provider: 'resend',
  about: {
    name: 'Resend',
    category: 'email',
    confidence: 'verified',
    evidence: [
      'npm:resend@6.37.0:dist/index.mjs',
      'github.com/triggerdotdev/trigger.dev:internal-packages/webhook-sources/catalog/research-notes*.md (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: [
      'which field names the object',
      'the retries of about 18 hours; hookonce assumes a week',
      'that only 200 is success',
    ],
    notes: ['The headers are those of Svix, `svix-*`.'],
  },
  ...standardSignature('svix'),
  apiKeys: {
    prefixes: ['re_'],
    advice: 'copy the signing secret of the webhook, which begins with whsec_',
  },
  event: {
    key: 'header:svix-id',
    type: 'json:type',
    objectId: ['json:data.email_id', 'json:data.id'],
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
    types: resendEventTypes,
  },
  retryWindowHours: 7 * 24,
  acceptedStatus: 200,
})

/** The types of this version's list, for completion. Any other type is allowed. */
export type ResendEventType = ListedType<typeof resendEventTypes> | (string & {})
