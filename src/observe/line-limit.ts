/*
 * Limits log lines that a stranger or an outage can cause at any rate. The first few lines of each
 * kind in an interval are written. The rest are counted, and one line at the end of the interval
 * gives their number.
 */

/** Enough to diagnose a problem: a flood of one kind becomes about one line per second. */
const LINES = 10
const INTERVAL_MS = 10_000
/**
 * Kinds name sources, codes and activities, so there are few. Beyond this number, all kinds count
 * as one.
 */
const MAX_KINDS = 1_000
const OTHERS = '(others)'

export interface LimitedLine {
  readonly kind: string
  readonly write: () => void
  /**
   * Called with the last line that was not written, the text `"… and 8,312 more"`, and the number.
   */
  readonly summarise: (andMore: string, leftOut: number) => void
}

interface Interval {
  readonly endsAt: number
  lines: number
  leftOut: number
  last: LimitedLine | undefined
}

export function lineLimit(): (line: LimitedLine) => void {
  const kinds = new Map<string, Interval>()

  function intervalOf(kind: string): Interval {
    const now = performance.now()
    const running = kinds.get(kind)
    if (running && now < running.endsAt) return running
    const interval: Interval = { endsAt: now + INTERVAL_MS, lines: 0, leftOut: 0, last: undefined }
    // Inserts the kind again, so that the map is ordered by age: `placeFor` removes the oldest
    // kind.
    kinds.delete(kind)
    kinds.set(kind, interval)
    return interval
  }

  /** A new kind replaces the oldest one, if the interval of the oldest is over. */
  function placeFor(kind: string): string {
    if (kinds.has(kind) || kinds.size < MAX_KINDS) return kind
    for (const [known, { endsAt, leftOut }] of kinds) {
      if (leftOut > 0 || performance.now() < endsAt) break
      kinds.delete(known)
      return kind
    }
    return OTHERS
  }

  function endLater(interval: Interval): void {
    setTimeout(() => {
      const { leftOut, last } = interval
      interval.leftOut = 0
      last?.summarise(`… and ${leftOut.toLocaleString('en-US')} more`, leftOut)
    }, interval.endsAt - performance.now()).unref()
  }

  return (line) => {
    const interval = intervalOf(placeFor(line.kind))
    if (interval.lines < LINES) {
      interval.lines += 1
      return line.write()
    }
    if (interval.leftOut === 0) endLater(interval)
    interval.leftOut += 1
    interval.last = line
  }
}
