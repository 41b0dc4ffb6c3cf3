/**
 * The event types of OpenAI.
 *
 * Evidence: npm:openai@6.49.0:resources/webhooks/webhooks.d.ts. A test compares
 * the list with it.
 */
export const openaiEventTypes = [
  'batch.cancelled',
  'batch.completed',
  'batch.expired',
  'batch.failed',
  'eval.run.canceled',
  'eval.run.failed',
  'eval.run.succeeded',
  'fine_tuning.job.cancelled',
  'fine_tuning.job.failed',
  'fine_tuning.job.succeeded',
  'realtime.call.incoming',
  'response.cancelled',
  'response.completed',
  'response.failed',
  'response.incomplete',
] as const
