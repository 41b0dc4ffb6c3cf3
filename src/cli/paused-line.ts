import type { Paused } from '../operate/pause.ts'
import { clock, safe } from './print.ts'

/** Why jobs wait, and the command that resumes them. */
export function pausedLine({ tenant, source, subscriber, pausedAt, pauseReason }: Paused): string {
  const place = tenant === 'default' ? source : `${tenant}/${source}`
  const name = subscriber === null ? place : `${place} ${subscriber}`
  const resume = [
    'hookonce resume',
    shellWord(source),
    ...(subscriber === null ? [] : [shellWord(subscriber)]),
    ...(tenant === 'default' ? [] : ['--tenant', shellWord(tenant)]),
  ]
  const why = pauseReason === null ? '' : ` (${pauseReason})`
  return safe(
    `${name} has been paused since ${clock(pausedAt)}${why}: its jobs wait until it is resumed (${resume.join(' ')})`,
  )
}

/** The line is meant to be copied, and names of subscribers and tenants may hold any character. */
function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
