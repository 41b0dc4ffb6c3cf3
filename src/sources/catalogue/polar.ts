import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const polar = provider({
  provider: 'polar',
  about: {
    name: 'Polar',
    category: 'billing',
    confidence: 'verified',
    evidence: [
      'npm:@polar-sh/sdk@0.49.0:src/webhooks.ts',
      'github.com/polarsource/polar:server/polar/webhook/tasks.py',
      'github.com/polarsource/polar:docs/integrate/webhooks/delivery.mdx',
    ],
    notes: [
      'Standard Webhooks, except for the secret: the whole text is the key, and it is not decoded.',
      'Ten retries with growing pauses, over a time that is not documented; hookonce assumes a week. Ten failures in a row disable the endpoint.',
    ],
  },
  ...standardSignature('webhook', { secretEncoding: 'utf8', secretPrefix: '' }),
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 10,
})
