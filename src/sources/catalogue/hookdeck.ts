import { provider } from '../provider.ts'

export const hookdeck = provider({
  provider: 'hookdeck',
  about: {
    name: 'Hookdeck (gateway)',
    category: 'webhook-infra',
    confidence: 'verified',
    evidence: [
      'npm:@hookdeck/sdk@0.4.0:webhooks/helpers.js',
      'npm:@trigger.dev/core@4.8.3:dist/esm/v3/webhooks/index.js (secondary)',
      'github.com/garethx/webhook-skills@0147101:providers.yaml (secondary, cites the vendor docs)',
    ],
    unverified: ['the time to answer in'],
    notes: [
      'The body is the one of the provider behind it: where its types are wanted, use `custom()` with this signature.',
      'The second header is there while a secret is rotated.',
      'The prefix of the headers can be configured: leave it.',
      'Retries are as configured: a week is counted on. The key is a header, and not signed.',
    ],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: ['x-hookdeck-signature', 'x-hookdeck-signature-2'],
    encoding: 'base64',
  },
  event: { key: 'header:x-hookdeck-eventid' },
  answerWithinSeconds: 60,
})
