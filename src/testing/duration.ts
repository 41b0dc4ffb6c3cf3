import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/durations.ts'
import { HookonceError } from '../model/errors.ts'

/** Milliseconds, or a number with a unit: `500ms`, `10s`, `5m`, `2h`, `3d`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
}

export function durationMs(duration: Duration, where: string): number {
  if (typeof duration === 'number' && Number.isFinite(duration)) return duration
  const [, number, unit = ''] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(duration)) ?? []
  const factor = UNITS[unit]
  if (number !== undefined && factor !== undefined) return Number(number) * factor
  const fault = `"${String(duration)}" is not a duration; pass milliseconds, or text such as "10s", "2h" or "3d"`
  throw new HookonceError('CONFIG_INVALID', `${where}: ${fault}`)
}
