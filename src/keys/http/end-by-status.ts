/*
 * Decides from a status what happens to the key. A reply that would be the same next time is
 * stored. A reply about a temporary condition (authentication, load, an outage) releases the key,
 * so that the next request runs.
 */
const TEMPORARY = new Set([401, 403, 408, 425, 429, 502, 503, 504])

export function endByStatus(status: number, store5xx: 'on' | 'off'): 'completed' | 'released' | 'failed' {
  if (store5xx === 'on' && status >= 500) return 'completed'
  if (TEMPORARY.has(status)) return 'released'
  return status >= 500 ? 'failed' : 'completed'
}
