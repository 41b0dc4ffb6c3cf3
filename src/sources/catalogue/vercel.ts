import { provider } from '../provider.ts'

export const vercel = provider({
  provider: 'vercel',
  about: {
    name: 'Vercel',
    category: 'hosting',
    confidence: 'documented',
    evidence: [
      'https://vercel.com/docs/webhooks (cited by a secondary source)',
      'npm:nuxt-webhook-validators@0.2.12:vercel (secondary)',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the retries of 24 hours; hookonce assumes two days'],
    notes: [
      'The secret is that of the webhook, or the client secret of the integration.',
      'The algorithm is SHA-1, although other lists differ.',
    ],
  },
  signature: { algorithm: 'hmac-sha1', header: 'x-vercel-signature', encoding: 'hex' },
  event: {
    key: 'json:id',
    type: 'json:type',
    objectId: ['json:payload.deployment.id', 'json:payload.deploymentId', 'json:payload.project.id'],
    occurredAt: { at: 'json:createdAt', unit: 'ms' },
    object: 'json:payload',
  },
  retryWindowHours: 48,
  answerWithinSeconds: 30,
})
