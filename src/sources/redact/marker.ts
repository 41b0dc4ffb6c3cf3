/** Stands in the place of a hidden value. */
export const MARKER = '[redacted]'
