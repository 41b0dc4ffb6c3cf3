/** Replaces a hidden value. */
export const MARKER = '[redacted]'
