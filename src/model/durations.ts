export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** How long a handler may run, unless its subscriber says otherwise. Longer work belongs into steps. */
export const HANDLER_MS = 60 * SECOND_MS
