/*
 * Log lines that a stranger or an outage can cause come as fast as anyone likes. Of each kind, the
 * first few in an interval are written. The rest are counted, and one line at the end of the
 * interval says how many.
 */

/** Enough to see what goes on; a flood of one kind is then one line per second. */
const LINES = 10
const INTERVAL_MS = 10_000
/**
 * Kinds name sources, codes and activities, which are few. Beyond this many, all further ones count
 * as one kind.
 */
const MAX_KINDS = 1_000
const OTHERS = '(others)'

export interface LimitedLine {
  readonly kind: string
  readonly write: () => void
  /** Called for the last line that was left out, with `"… and 8,312 more"` and the number in it. */
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
    // Anew at the end of the map: the oldest kinds come first there.
    kinds.delete(kind)
    kinds.set(kind, interval)
    return interval
  }

  /** A kind that is not known yet may take the place of one whose interval is over. */
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
