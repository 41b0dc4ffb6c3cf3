import type { EnvelopeProvider } from '../envelope-provider.ts'
import { openaiEventTypes } from '../event-types/openai.ts'
import { typedProvider } from '../provider.ts'
import type { ListedType } from '../typed-events.ts'
import { standardSignature } from './standard-webhooks.ts'

export const openai: EnvelopeProvider<OpenAIEventType> = typedProvider({
  provider: 'openai',
  about: {
    name: 'OpenAI',
    category: 'ai',
    confidence: 'verified',
    evidence: [
      'npm:openai@6.49.0:resources/webhooks/webhooks.js',
      'npm:openai@6.49.0:resources/webhooks/webhooks.d.ts',
      'github.com/openai/openai-node:tests/api-resources/webhooks.test.ts',
    ],
    unverified: ['the retries of 72 hours; hookonce assumes a week'],
    notes: [
      'The secret is `whsec_<base64>`. The SDK uses a secret without that prefix as plain text; hookonce decodes it as base64.',
    ],
  },
  ...standardSignature('webhook'),
  apiKeys: {
    prefixes: ['sk-'],
    advice: 'copy the signing secret of the webhook, which begins with whsec_',
  },
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 's' },
    object: 'json:data',
    types: openaiEventTypes,
  },
  retryWindowHours: 7 * 24,
})

/** The types of this version's list, for completion. Any other type is allowed. */
export type OpenAIEventType = ListedType<typeof openaiEventTypes> | (string & {})
