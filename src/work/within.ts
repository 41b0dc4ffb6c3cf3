import { setTimeout as delay } from 'node:timers/promises'

/** A Node timer holds 31 bits of milliseconds. A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Waits for `work`, but no longer than `ms`. */
export async function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  const over = new AbortController()
  const pause = delay(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal: over.signal })
  await Promise.race([work, pause.catch(() => undefined)])
  over.abort()
}
