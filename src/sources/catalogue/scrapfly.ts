import { provider } from '../provider.ts'

export const scrapfly = provider({
  provider: 'scrapfly',
  about: {
    name: 'Scrapfly',
    category: 'data',
    confidence: 'documented',
    evidence: [
      'https://scrapfly.io/docs/scrape-api/webhook (cited by a secondary source)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      "The body contains the signing secret at `context.webhook.secret`. Leave it out of what is stored: `redact: ['$.context.webhook.secret']`.",
      'Retries end after a day. After 100 failures in a row the webhook is disabled.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-scrapfly-webhook-signature', encoding: 'hex' },
  event: {
    key: 'header:x-scrapfly-webhook-job-id',
    type: 'header:x-scrapfly-webhook-resource-type',
    objectId: 'header:x-scrapfly-webhook-job-id',
  },
  retryWindowHours: 3 * 24,
})
