import { provider } from '../provider.ts'

export const ashby = provider({
  provider: 'ashby',
  about: {
    name: 'Ashby',
    category: 'hr',
    confidence: 'documented',
    evidence: [
      'https://developers.ashbyhq.com/docs/setting-up-webhooks',
      'https://developers.ashbyhq.com/docs/authenticating-webhooks (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['that a retry repeats the body', 'the retries; hookonce assumes a week'],
    notes: [
      'Only webhooks with a secret token are signed; others are rejected.',
      'There is no id; the key is the body, which contains action, object and its last change.',
      'After an answer of 400 or more to its `ping`, Ashby disables the webhook.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'ashby-signature',
    encoding: 'hex',
    format: { kind: 'bare', prefix: 'sha256=' },
  },
  event: {
    key: 'body-hash',
    type: 'json:action',
    objectId: [
      'json:data.offer.id',
      'json:data.interviewSchedule.id',
      'json:data.application.id',
      'json:data.candidate.id',
      'json:data.jobPosting.id',
      'json:data.job.id',
    ],
    object: 'json:data',
  },
})
