import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const anthropic = provider({
  provider: 'anthropic',
  about: {
    name: 'Anthropic',
    category: 'ai',
    confidence: 'verified',
    evidence: [
      'npm:@anthropic-ai/sdk@1.8.0:resources/beta/webhooks.js',
      'npm:@anthropic-ai/sdk@1.8.0:resources/beta/webhooks.d.ts',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['where the date of the event is', 'how long it retries; hookonce assumes a week'],
    notes: [
      'Some lists name a single header `X-Webhook-Signature`. The SDK reads the three headers of Standard Webhooks.',
    ],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:data.type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:created_at', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 7 * 24,
})
