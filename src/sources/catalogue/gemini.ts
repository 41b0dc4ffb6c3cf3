import { provider } from '../provider.ts'
import { standardSignature } from './standard-webhooks.ts'

export const gemini = provider({
  provider: 'gemini',
  about: {
    name: 'Google Gemini API',
    category: 'ai',
    confidence: 'documented',
    evidence: ['github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)'],
    unverified: ['where object and date are'],
    notes: [
      'For webhooks of a project. Webhooks of a single job (dynamic) use tokens signed with fetched keys and are not supported.',
      'It retries for 24 hours.',
    ],
  },
  ...standardSignature('webhook'),
  event: {
    key: 'header:webhook-id',
    type: 'json:type',
    objectId: 'json:data.id',
    occurredAt: { at: 'json:timestamp', unit: 'iso' },
    object: 'json:data',
  },
  retryWindowHours: 48,
})
