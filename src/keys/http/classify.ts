/*
 * What a status says about the key. Replies that would be the same the next time are kept; replies that speak of this
 * moment (who asks, how busy we are, what is down) let the next one run.
 */
const OF_THE_MOMENT = new Set([401, 403, 408, 425, 429, 502, 503, 504])

export function endOf(status: number, store5xx: 'on' | 'off'): 'completed' | 'released' | 'failed' {
  if (store5xx === 'on' && status >= 500) return 'completed'
  if (OF_THE_MOMENT.has(status)) return 'released'
  return status >= 500 ? 'failed' : 'completed'
}
