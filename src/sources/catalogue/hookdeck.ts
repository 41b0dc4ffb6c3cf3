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
    unverified: ['the time limit for an answer'],
    notes: [
      'The body is that of the original provider. To use its event types, use `custom()` with this signature.',
      'The second header is sent during a rotation.',
      'The prefix of the headers is configurable: keep the default.',
      'Retries are as configured; hookonce assumes a week. The key is in a header, which is not signed.',
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
