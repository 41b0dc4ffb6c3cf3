// @ts-check

/**
 * Exact percentiles, from all samples.
 * @param {number[]} samples milliseconds
 */
export function percentiles(samples) {
  const sorted = Float64Array.from(samples).sort()
  /** @param {number} share */
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1) }
}

/** @typedef {ReturnType<typeof percentiles>} Percentiles */

/** @param {number[]} numbers */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
