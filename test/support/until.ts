import { setTimeout as delay } from 'node:timers/promises'

/** Waits for something that will happen, and says what it was when it does not. */
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
