import { setTimeout as delay } from 'node:timers/promises'

/** Waits for a condition. If it is not met in time, the error names it. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limitMs = 30_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs
  for (;;) {
    const seen = await look()
    if (seen) return seen as NonNullable<T>
    if (performance.now() > end) throw new Error(`waited ${limitMs} ms in vain: ${what}`)
    await delay(20)
  }
}
