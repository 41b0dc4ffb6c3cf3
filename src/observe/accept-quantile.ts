import { BUCKETS } from './metrics.ts'

/**
 * The upper bound of the bucket that holds this quantile, in milliseconds. Null: nothing was
 * measured. Durations above the last bound count as that bound.
 */
export function acceptQuantileMs(counts: readonly number[], quantile: number): number | null {
  const all = counts.reduce((total, count = 0) => total + count, 0)
  if (all === 0) return null
  let below = 0
  for (const [place, bound] of BUCKETS.entries()) {
    below += counts[place] ?? 0
    if (below >= all * quantile) return bound * 1000
  }
  return (BUCKETS.at(-1) ?? 0) * 1000
}
