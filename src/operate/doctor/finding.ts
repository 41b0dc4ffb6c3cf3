/** `warn`: it works, but not as well or as safely as it should. `fail`: it does not work. */
export type Level = 'ok' | 'warn' | 'fail'

/** The result of one check of the doctor. */
export interface Finding {
  readonly check: string
  readonly level: Level
  /** The observation. Never holds a secret. */
  readonly seen: string
  /** The advice. Undefined: nothing to do. */
  readonly advice?: string
}

export function ok(check: string, seen: string): Finding {
  return { check, level: 'ok', seen }
}

export function warn(check: string, seen: string, advice: string): Finding {
  return { check, level: 'warn', seen, advice }
}

export function fail(check: string, seen: string, advice: string): Finding {
  return { check, level: 'fail', seen, advice }
}

export const MEGABYTE = 1024 ** 2
export const GIGABYTE = 1024 ** 3

/** In the style of PostgreSQL: `128 MB`, `1.5 GB`. */
export function sizeText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit += 1
  }
  return `${size >= 10 || Number.isInteger(size) ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

/** `45 s`, `12 min`, `3 h`, `2 days`. */
export function durationText(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
