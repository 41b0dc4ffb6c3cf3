import * as binary from '../driver/binary.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { CLAIMABLE } from './states.ts'

/*
 * Which subscribers are served. A worker records at its start the subscribers whose jobs it runs.
 * The jobs of a renamed or removed subscriber wait until a worker serves it again, or an operator
 * moves or discards them (waiting-jobs.ts). Workers of older binaries do not record their
 * subscribers: they count as serving every subscriber.
 */

/** Whether a running worker serves the subscriber `s`. */
export const IS_SERVED = `exists (select from ledger.worker w where w.dead_at is null and w.lease_until > now()
     and (w.serves is null or s.id = any(w.serves)))`

/** The rows of dead workers are deleted after a day; `served_until` keeps the time. */
const SERVED_UNTIL = `(select greatest(s.served_until, max(coalesce(w.dead_at, w.lease_until)))
     from ledger.worker w where s.id = any(w.serves))`

const LIST = statement(
  'list_served',
  `select s.id, s.tenant, s.source, s.name as subscriber, s.pattern, s.seen_at as "registeredAt", s.paused_at as "pausedAt",
     s.pause_reason as "pauseReason", ${IS_SERVED} as "isServed", ${SERVED_UNTIL} as "servedUntil",
     sum(j.waiting)::float8 as waiting, sum(j.begun)::float8 as begun
   from ledger.subscriber s
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select count(*) as waiting, count(*) filter (where j.fence > 0) as begun
     from ledger.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE}
   ) j
   group by s.id
   order by s.tenant, s.source, s.name`,
)

export interface ServedSubscriber {
  readonly id: number
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  readonly pattern: string
  /** When a process last registered it. */
  readonly registeredAt: Date
  readonly pausedAt: Date | null
  /** Null: none was given. */
  readonly pauseReason: string | null
  /** Whether a running worker serves it. */
  readonly isServed: boolean
  /**
   * When the last worker that served it ended, or its lease ends. Null: no such worker is known.
   */
  readonly servedUntil: Date | null
  /** Jobs that wait for their next run. */
  readonly waiting: number
  /** The waiting jobs that ran before. */
  readonly begun: number
}

export async function servedSubscribers(db: Queryable, shards: number): Promise<ServedSubscriber[]> {
  return rows(db, LIST, [shards])
}

const UNATTENDED = statement(
  'unattended_subscribers',
  `select s.source, s.name as subscriber, coalesce(${SERVED_UNTIL}, s.seen_at) as since,
     exists (select from ledger.worker w where w.dead_at is null and w.lease_until > now()
       and coalesce(cardinality(w.serves), 1) > 0) as "othersRun"
   from ledger.subscriber s
   where s.id = any($1::integer[]) and not ${IS_SERVED}
   order by s.source, s.name`,
)

export interface UnattendedSubscriber {
  readonly source: string
  readonly subscriber: string
  /** When the last worker that served it ended. If none is known: when it was registered. */
  readonly since: Date
  /** Whether any worker runs at all. */
  readonly othersRun: boolean
}

/** Returns those of the given subscribers that no running worker serves. */
export async function unattendedSubscribers(
  db: Queryable,
  subscribers: readonly number[],
): Promise<UnattendedSubscriber[]> {
  return rows(db, UNATTENDED, [binary.integers(subscribers)])
}
