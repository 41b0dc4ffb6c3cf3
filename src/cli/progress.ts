import { safe } from './print.ts'

/** The progress of a long command. */
export interface Step {
  /** The number of finished items. */
  readonly done: number
  /** The noun for the items, in the plural. */
  readonly noun: string
  readonly total?: number | undefined
  /** The finished share, from 0 to 1, if the total is not known but the share is. */
  readonly share?: number | undefined
  /** Further text at the end of the line. */
  readonly note?: string | undefined
  /** Prints at once, even if output is rate-limited. */
  readonly isUrgent?: boolean | undefined
}

export interface Progress {
  show(step: Step): void
  /** Removes the bar from the terminal. */
  end(): void
}

/** The share of a stream that was read. */
export interface ProgressOutput {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

const CLEAR_LINE = '\r\x1b[K'
const BAR_CHARS = 20
/** Faster updates would be unreadable. */
const BAR_EVERY_MS = 100
/** Without a terminal, lines are at least this far apart. */
const LINE_EVERY_MS = 5_000
/** Before this time the rate is not precise enough to show. */
const FIRST_RATE_MS = 500

/** A bar that is rewritten on a terminal; occasional lines elsewhere. */
export function progress(output: ProgressOutput, nowMs: () => number = () => performance.now()): Progress {
  const startedAtMs = nowMs()
  let writtenAtMs = output.isTTY ? Number.NEGATIVE_INFINITY : startedAtMs
  let isShown = false
  return {
    show(step) {
      const now = nowMs()
      const everyMs = output.isTTY ? BAR_EVERY_MS : LINE_EVERY_MS
      if (!step.isUrgent && now - writtenAtMs < everyMs) return
      writtenAtMs = now
      const facts = factsText(step, now - startedAtMs)
      if (!output.isTTY) {
        output.write(`${facts}\n`)
        return
      }
      isShown = true
      const share = shareOf(step)
      const text = share === undefined ? facts : `${barText(share)} ${facts}`
      // A longer line would wrap, and could not be rewritten.
      output.write(`${CLEAR_LINE}${text.slice(0, Math.max(20, (output.columns || 80) - 1))}`)
    },
    end() {
      if (isShown) output.write(CLEAR_LINE)
      isShown = false
    },
  }
}

function shareOf({ done, total, share }: Step): number | undefined {
  const known = total === undefined ? share : total === 0 ? 1 : done / total
  return known === undefined ? undefined : Math.min(1, Math.max(0, known))
}

function barText(share: number): string {
  const full = Math.round(share * BAR_CHARS)
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CHARS - full)}]`
}

function factsText(step: Step, elapsedMs: number): string {
  const { done, noun, total, note } = step
  const share = shareOf(step)
  const isRated = elapsedMs >= FIRST_RATE_MS && done > 0
  const leftMs = isRated && share !== undefined && share > 0 ? (elapsedMs * (1 - share)) / share : undefined
  return [
    total === undefined ? `${done} ${noun}` : `${done} of ${total} ${noun}`,
    ...(share === undefined ? [] : [`${Math.floor(share * 100)} %`]),
    ...(note === undefined ? [] : [safe(note)]),
    ...(isRated ? [`${rateText((done * 1_000) / elapsedMs)}/s`] : []),
    ...(leftMs === undefined ? [] : [`${leftText(leftMs)} left`]),
  ].join(', ')
}

function rateText(perSecond: number): string {
  return perSecond >= 10 ? String(Math.round(perSecond)) : perSecond.toFixed(1)
}

function leftText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`
  return `${Math.floor(seconds / 3_600)} h ${Math.ceil((seconds % 3_600) / 60)} min`
}
