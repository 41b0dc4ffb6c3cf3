/**
 * The `secret` of a receipt that was reconciled: the provider's API listed its event, and no
 * signature was checked. Secrets that match a delivery are counted from 1.
 */
export const NO_SECRET = 0

/**
 * The `secret` of a receipt that was imported: another system had processed its event before
 * hookonce took over. It has neither a body nor jobs.
 */
export const IMPORTED = -1

/** The header of a reconciled receipt. Its value is the time at which the API was read. */
export const RECONCILED_HEADER = 'x-hookonce-reconciled'
