/* Failures over time, for the small line of a group. */

const HOUR_MS = 3_600_000
/** The number of points that fit into the line. */
const POINTS = 40

export interface Hour {
  readonly at: string
  readonly jobs: number
}

export interface Span {
  readonly from: number
  readonly to: number
}

/** The hours from the first to the last failure of any group. All lines share this span. */
export function spanOf(groups: readonly { readonly hours: readonly Hour[] }[], now: number): Span {
  const times = groups.flatMap(({ hours }) => hours.map(({ at }) => Date.parse(at)))
  const from = times.reduce((least, time) => Math.min(least, time), now - 24 * HOUR_MS)
  return { from, to: Math.max(now, from + HOUR_MS) }
}

/** The jobs of each part of the span. Hours without failures are not listed, and count as zero. */
export function seriesOf(hours: readonly Hour[], { from, to }: Span): readonly number[] {
  const points: number[] = Array.from({ length: POINTS }, () => 0)
  const width = (to - from) / POINTS
  for (const { at, jobs } of hours) {
    const place = Math.min(POINTS - 1, Math.floor((Date.parse(at) - from) / width))
    if (place >= 0) points[place] = (points[place] ?? 0) + jobs
  }
  return points
}
