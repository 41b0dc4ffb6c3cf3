import { provider } from '../provider.ts'

export const circleci = provider({
  provider: 'circleci',
  about: {
    name: 'CircleCI',
    category: 'ci',
    confidence: 'verified',
    evidence: [
      'github.com/circleci/circleci-docs:docs/guides/modules/integration/pages/outbound-webhooks.adoc',
    ],
    unverified: ['where id and date of an event are'],
    notes: ['Retries come "at a later time", without details; hookonce assumes a week.'],
  },
  signature: {
    algorithm: 'hmac-sha256',
    header: 'circleci-signature',
    encoding: 'hex',
    format: { kind: 'list', itemSeparator: ',', fieldSeparator: '=', signatureField: 'v1' },
  },
  event: {
    key: 'json:id',
    type: ['json:type', 'header:circleci-event-type'],
    // A job is sent with its workflow, and a workflow with its pipeline.
    objectId: ['json:job.id', 'json:workflow.id', 'json:pipeline.id'],
    occurredAt: { at: 'json:happened_at', unit: 'iso' },
  },
  retryWindowHours: 7 * 24,
  answerWithinSeconds: 10,
})
