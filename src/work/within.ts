import { setTimeout as delay } from 'node:timers/promises'

/** Waits for `work`, but no longer than this. */
export async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  const over = new AbortController()
  await Promise.race([work, delay(ms, undefined, { signal: over.signal }).catch(() => undefined)])
  over.abort()
}
