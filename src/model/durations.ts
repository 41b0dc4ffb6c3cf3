export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/**
 * Longer than a pause of the process or its network, and short enough to recover soon from a crash.
 */
export const DEFAULT_LEASE_MS = 30 * SECOND_MS

/**
 * How long a handler may run, unless its subscriber sets another timeout. Split longer work into
 * steps.
 */
export const HANDLER_MS = 60 * SECOND_MS
