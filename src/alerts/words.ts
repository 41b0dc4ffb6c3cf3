/** A length of time in its largest unit: `45 seconds`, `12 minutes`, `5 hours`, `3 days`. */
export function span(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
  ] as const
  const [length, unit] = units.find(([least]) => seconds >= 2 * least) ?? [1, 'second']
  const number = Math.round(seconds / length)
  return `${number} ${unit}${number === 1 ? '' : 's'}`
}

export function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`
}
