/* Numbers, durations and times for people. A number always has its unit. */

const whole = new Intl.NumberFormat('en')

export function formatCount(count: number): string {
  return whole.format(count)
}

/** 1,234 or 12.3k. For narrow places. */
export function formatShort(count: number): string {
  if (count < 10_000) return whole.format(count)
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 100_000 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export function formatShare(part: number, all: number): string {
  if (all === 0) return '0 %'
  const share = (part / all) * 100
  return `${share === 0 || share >= 99.95 ? share.toFixed(0) : share.toFixed(1)} %`
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration: 3.1 ms, 8.4 s, 2 min 5 s. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${Number((ms / SECOND).toFixed(1))} s`
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return inTwo(ms, [MINUTE, 'min'], [SECOND, 's'])
  if (ms < DAY) return inTwo(ms, [HOUR, 'h'], [MINUTE, 'min'])
  return inTwo(ms, [DAY, 'd'], [HOUR, 'h'])
}

type Unit = readonly [ms: number, name: string]

function inTwo(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rounded = Math.round(ms / small) * small
  const rest = Math.round((rounded % large) / small)
  return `${Math.floor(rounded / large)} ${largeName}${rest > 0 ? ` ${rest} ${smallName}` : ''}`
}

/** 2 s ago, 4 min ago, in 3 h. Clocks differ a little, so the next second still counts as now. */
export function formatRelative(at: number, now: number): string {
  const ms = Math.abs(now - at)
  if (ms < 1_500) return 'now'
  const amount = roughly(ms)
  return at < now ? `${amount} ago` : `in ${amount}`
}

/** A duration in its largest unit. */
export function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.round(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`
  return `${Math.round(ms / DAY)} d`
}

const full = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
})

/** With the time zone of the browser, and in UTC. */
export function formatFull(at: Date): string {
  return `${full.format(at)}\n${at.toISOString()}`
}

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const dayAndClock = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

/** 14:02:11.482 today, 12 Nov, 14:02:11 on other days. */
export function formatClock(at: Date, now = new Date()): string {
  return at.toDateString() === now.toDateString() ? clock.format(at) : dayAndClock.format(at)
}
