/** Wakes one waiter. A ring while nothing waits is remembered, so that no wake-up is lost. */
export interface Bell {
  ring(): void
  /** Resolves at the next ring, or after this time. Resolves at once if it rang since `reset`. */
  wait(ms: number): Promise<void>
  reset(): void
}

export function bell(): Bell {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
    },
    reset() {
      rung = false
    },
    wait(ms) {
      if (rung) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(done, ms)
        function done(): void {
          clearTimeout(timer)
          wake = undefined
          resolve()
        }
        wake = done
      })
    },
  }
}
