import type { Registered } from '../ledger/read/registered.ts'
import { clock, safe } from './print.ts'

export type Paused = Registered & { readonly pausedAt: Date }

export function pausedOf(all: readonly Registered[]): Paused[] {
  return all.flatMap(({ pausedAt, ...one }) => (pausedAt ? [{ ...one, pausedAt }] : []))
}

/** A pause holds the jobs that have not begun, and those that would be tried again. */
export function isWaiting(state: string): boolean {
  return state === 'received' || state === 'retrying'
}

/** Says why jobs wait, and what lets them go on. */
export function pausedLine({ tenant, source, subscriber, pausedAt }: Paused): string {
  const name = subscriber === null ? source : `${source} ${subscriber}`
  const resume = [
    'hookonce resume',
    shellWord(source),
    ...(subscriber === null ? [] : [shellWord(subscriber)]),
    ...(tenant === 'default' ? [] : ['--tenant', shellWord(tenant)]),
  ]
  return safe(
    `${name} is paused since ${clock(pausedAt)}: its jobs wait until it is resumed (${resume.join(' ')})`,
  )
}

/** The line is there to be copied, and the names of subscribers and tenants may hold anything. */
function shellWord(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
