/**
 * The percentile: the smallest value such that at least this share of the values does not exceed
 * it.
 */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}
