import { signal } from '@preact/signals'
import { formatClock, formatFull, formatRelative } from '../format.ts'

/** The current time, updated each second while the page is visible. */
export const now = signal(Date.now())

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now()
}, 1_000)

export interface TimeProps {
  readonly at: string
  /** `clock`: 14:02:11.482. The default is relative: 4 min ago. */
  readonly as?: 'relative' | 'clock'
}

/** A time. On hover it shows the date with its zone. */
export function Time({ at, as = 'relative' }: TimeProps) {
  const date = new Date(at)
  return (
    <time
      dateTime={at}
      // Formatting is slow, and few times in a list are hovered over.
      onMouseEnter={({ currentTarget }) => {
        currentTarget.title = formatFull(date)
      }}
    >
      {as === 'clock' ? formatClock(date) : formatRelative(date.getTime(), now.value)}
    </time>
  )
}
