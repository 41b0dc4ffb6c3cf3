/** The records of effects in the ledger, one per key and epoch. */
export const EFFECTS = 'select key, epoch, state::text, mode from hookonce.effect order by key, epoch'

/** Options with which a failed job is retried at once. */
export const QUICK_RETRIES = { retry: { baseDelayMs: 1, maxDelayMs: 1 } }
