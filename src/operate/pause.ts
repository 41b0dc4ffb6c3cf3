import { setPaused } from '../ledger/jobs/subscribers.ts'
import type { LedgerTables } from '../ledger/ledger.ts'
import { type Registered, registered } from '../ledger/read/registered.ts'
import { HookonceError } from '../model/errors.ts'

/** A source, or one subscriber of it. */
export interface PauseTarget {
  readonly tenant?: string | undefined
  readonly source: string
  /** Undefined: every subscriber of the source. */
  readonly subscriber?: string | undefined
}

/** Holds the jobs of a source or subscriber. Deliveries are still recorded. */
export function pause(ledger: LedgerTables, target: PauseTarget): Promise<void> {
  return setOrThrow(ledger, target, true)
}

export function resume(ledger: LedgerTables, target: PauseTarget): Promise<void> {
  return setOrThrow(ledger, target, false)
}

async function setOrThrow({ pool }: LedgerTables, target: PauseTarget, paused: boolean): Promise<void> {
  const { tenant = 'default', source, subscriber } = target
  if (await setPaused(pool, { tenant, source, subscriber, paused })) return
  const unknown =
    subscriber === undefined ? `source "${source}"` : `subscriber "${subscriber}" of source "${source}"`
  const of = tenant === 'default' ? '' : ` of tenant "${tenant}"`
  throw new HookonceError('CONFIG_INVALID', `the ledger knows no ${unknown}${of}`)
}

/** A source or subscriber that is paused. */
export type Paused = Registered & { readonly pausedAt: Date }

export interface PausedFilter {
  readonly tenant?: string | undefined
  readonly source?: string | undefined
}

export async function listPaused(
  ledger: LedgerTables,
  { tenant, source }: PausedFilter = {},
): Promise<Paused[]> {
  return (await registered(ledger))
    .filter((one) => (tenant ?? one.tenant) === one.tenant && (source ?? one.source) === one.source)
    .flatMap(({ pausedAt, ...one }) => (pausedAt ? [{ ...one, pausedAt }] : []))
}

/** A pause holds jobs that have not begun, and jobs that would be retried. */
export function isHeldByPause(state: string): boolean {
  return state === 'received' || state === 'retrying'
}
