import { provider } from '../provider.ts'

export const netlify = provider({
  provider: 'netlify',
  about: {
    name: 'Netlify deploy notifications',
    category: 'hosting',
    confidence: 'documented',
    evidence: [
      'github.com/n8n-io/n8n:packages/nodes-base/nodes/Netlify/NetlifyTriggerHelpers.ts (secondary)',
      'npm:nuxt-webhook-validators@0.2.12:netlify (secondary)',
    ],
    unverified: ['the header with the type', 'that id, state and date identify an event', 'retries'],
    notes: ['The token has no date: only the event key detects an old delivery.'],
  },
  signature: {
    algorithm: 'jwt',
    header: 'x-webhook-signature',
    algorithms: ['HS256'],
    issuer: 'netlify',
    bodyHash: { claim: 'sha256', encoding: 'hex' },
  },
  event: {
    key: { hash: ['json:id', 'json:state', 'json:updated_at'] },
    type: ['header:x-netlify-event', 'json:state'],
    objectId: 'json:id',
    occurredAt: { at: 'json:updated_at', unit: 'iso' },
    version: { at: 'json:updated_at', unit: 'iso' },
  },
})
