import { rows, statement } from '../driver/statement.ts'
import type { LedgerTables } from '../ledger.ts'

/* The sources and subscribers that the ledger knows, and which of them are paused. */
const REGISTERED = statement(
  'registered',
  `select tenant, name as source, null as subscriber, paused_at as "pausedAt", pause_reason as "pauseReason"
   from ledger.source
   union all
   select tenant, source, name, paused_at, pause_reason from ledger.subscriber
   order by 1, 2, 3 nulls first`,
)

export interface Registered {
  readonly tenant: string
  readonly source: string
  /** Null: the source itself. */
  readonly subscriber: string | null
  readonly pausedAt: Date | null
  /** Null: none was given. */
  readonly pauseReason: string | null
}

export async function registered({ pool }: LedgerTables): Promise<Registered[]> {
  return rows(pool, REGISTERED)
}
