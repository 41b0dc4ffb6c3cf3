import { provider } from '../provider.ts'

const JOB = 'header:x-scrapfly-webhook-job-id'
const CRAWL_EVENT = [JOB, 'header:x-scrapfly-crawl-event-name'] as const

export const scrapfly = provider({
  provider: 'scrapfly',
  about: {
    name: 'Scrapfly',
    category: 'data',
    confidence: 'documented',
    evidence: [
      'https://scrapfly.io/docs/scrape-api/webhook (cited by a secondary source)',
      'https://scrapfly.io/docs/crawler-api/getting-started (headers and events of the crawler)',
      'https://scrapfly.github.io/python-scrapfly/scrapfly/crawler/crawler_webhook.html (bodies of the crawler)',
      'github.com/garethx/webhook-skills@9d57a6b:providers.yaml (secondary, cites the vendor docs)',
    ],
    notes: [
      "The body contains the signing secret at `context.webhook.secret`. Leave it out of what is stored: `redact: ['$.context.webhook.secret']`.",
      'The type of an event of the crawler is its name, such as `crawler_finished`. For other products it is the product: `scrape`, `extraction` or `screenshot`. Scrapfly sends no event id for the crawler, so the key contains the payload.',
      'Retries end after a day. After 100 failures in a row the webhook is disabled.',
    ],
  },
  signature: { algorithm: 'hmac-sha256', header: 'x-scrapfly-webhook-signature', encoding: 'hex' },
  event: {
    // For the crawler, the job id is the id of the whole crawl, which causes many events. A scrape,
    // an extraction and a screenshot cause one event per job.
    key: [
      { hash: [...CRAWL_EVENT, { textOf: 'json:payload' }] },
      // The body has another shape.
      { hash: [...CRAWL_EVENT, 'body-hash'] },
      JOB,
    ],
    type: ['header:x-scrapfly-crawl-event-name', 'header:x-scrapfly-webhook-resource-type'],
    objectId: JOB,
  },
  retryWindowHours: 3 * 24,
})
