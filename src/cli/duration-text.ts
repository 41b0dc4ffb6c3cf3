/** A duration for people, in the largest unit that keeps two digits: `850 ms`, `42 s`, `12 min`. */
export function durationText(ms: number): string {
  const [size, unit] = UNITS.find(([, , below]) => ms < below) ?? DAYS
  const value = ms / size
  // One decimal, if rounding would hide most of the value.
  return `${value < 10 && size > 1 ? Number(value.toFixed(1)) : Math.round(value)} ${unit}`
}

const DAYS = [86_400_000, 'd'] as const

/** Size in milliseconds, name, and the longest duration that uses this unit. */
const UNITS = [
  [1, 'ms', 1_000],
  [1_000, 's', 100_000],
  [60_000, 'min', 100 * 60_000],
  [3_600_000, 'h', 48 * 3_600_000],
] as const
