/**
 * Deadlines of one duration, nearly all of which are met. They share one timer, set for the oldest:
 * one timer per body would cost more than reading the body.
 */
export interface Deadlines {
  watch(onMissed: () => void): void
  unwatch(onMissed: () => void): void
}

export function deadlines(lengthMs: number): Deadlines {
  // A Map keeps the order of insertion. All deadlines have the same duration, so they also end in
  // this order.
  const due = new Map<() => void, number>()
  let isTimerSet = false

  function setTimer(delayMs: number): void {
    isTimerSet = true
    // The connections keep the process alive. A deadline must not.
    setTimeout(check, delayMs).unref()
  }

  function check(): void {
    isTimerSet = false
    const now = performance.now()
    for (const [onMissed, dueAt] of due) {
      if (dueAt > now) return setTimer(Math.ceil(dueAt - now))
      due.delete(onMissed)
      onMissed()
    }
  }

  return {
    watch(onMissed) {
      due.set(onMissed, performance.now() + lengthMs)
      if (!isTimerSet) setTimer(lengthMs)
    },
    unwatch(onMissed) {
      due.delete(onMissed)
    },
  }
}
