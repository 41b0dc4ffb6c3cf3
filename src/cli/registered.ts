import type { LedgerTables } from '../ledger/ledger.ts'
import { rows, statement } from '../ledger/statement.ts'
import { clock, safe } from './print.ts'

/* The sources and subscribers that the ledger knows, and which of them are paused. */

const REGISTERED = statement(
  'registered',
  `select tenant, name as source, null as subscriber, paused_at as "pausedAt" from hookonce.source
   union all
   select tenant, source, name, paused_at from hookonce.subscriber
   order by 1, 2, 3 nulls first`,
)

export interface Registered {
  readonly tenant: string
  readonly source: string
  /** Null: the source itself. */
  readonly subscriber: string | null
  readonly pausedAt: Date | null
}

export async function registered({ pool }: LedgerTables): Promise<Registered[]> {
  return rows(pool, REGISTERED)
}

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
