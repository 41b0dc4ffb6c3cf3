/**
 * The state machine of a job. ARCHITECTURE.md draws it; a test compares the two, and the ledger's
 * enum `hookonce.job_state` holds the same words.
 */
export const jobStates = ['received', 'processing', 'retrying', 'processed', 'failed', 'attention'] as const

export type JobState = (typeof jobStates)[number]

/** What each state may become. `attention` waits for a person: an effect's outcome is unknown. */
export const transitions: Readonly<Record<JobState, readonly JobState[]>> = {
  received: ['processing', 'failed'],
  processing: ['processed', 'retrying', 'failed', 'received', 'attention'],
  retrying: ['processing', 'failed'],
  processed: ['received'],
  failed: ['received'],
  attention: ['received', 'failed'],
}
