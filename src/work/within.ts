/** A Node timer holds 31 bits of milliseconds. A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Waits for `work`, but no longer than `ms`. */
export function withinMs(work: Promise<unknown>, ms: number): Promise<void> {
  return new TimeLimit(ms).within(work)
}

/** A limit that can be shortened while something waits for it. It is never extended. */
export class TimeLimit {
  #endsAt: number
  /** One function per wait. Each sets its timer again. */
  readonly #waits = new Set<() => void>()

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms
  }

  get leftMs(): number {
    return Math.max(0, this.#endsAt - performance.now())
  }

  shorten(ms: number): void {
    if (ms >= this.leftMs) return
    this.#endsAt = performance.now() + ms
    for (const setTimer of this.#waits) setTimer()
  }

  /** Waits for `work`, but no longer than the limit. */
  async within(work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let setTimer = (): void => undefined
    const over = new Promise<void>((resolve) => {
      setTimer = () => {
        clearTimeout(timer)
        timer = setTimeout(resolve, Math.min(this.leftMs, LONGEST_TIMER_MS))
      }
    })
    setTimer()
    this.#waits.add(setTimer)
    try {
      await Promise.race([work, over])
    } finally {
      clearTimeout(timer)
      this.#waits.delete(setTimer)
    }
  }
}
