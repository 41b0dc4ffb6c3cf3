import { type Queryable, rows, statement } from '../driver/statement.ts'
import { CLAIMABLE } from '../jobs/states.ts'
import type { Counts } from '../stats/rollups.ts'

/*
 * The input of the alert rules. Every statement reads an index range whose length depends neither
 * on history nor on the backlog.
 */

export interface AlertSubject {
  readonly tenant: string
  readonly source: string
}

export interface JobPlace extends AlertSubject {
  readonly subscriber: string
}

const WINDOW_COUNTS = statement(
  'alert_window_counts',
  `select w.minutes, r.tenant, r.source, r.subscriber, sum(r.received)::float8 as received,
     sum(r.duplicate)::float8 as duplicate, sum(r.unsigned)::float8 as unsigned, sum(r.processed)::float8 as processed,
     sum(r.retrying)::float8 as retrying, sum(r.failed)::float8 as failed
   from unnest($1::integer[]) w(minutes)
   join ledger.rollup r on r.size = 1
     and r.at > date_trunc('minute', now()) - w.minutes * interval '1 minute'
   group by w.minutes, r.tenant, r.source, r.subscriber`,
)

export type WindowCounts = JobPlace &
  Pick<Counts, 'received' | 'duplicate' | 'unsigned' | 'processed' | 'retrying' | 'failed'> & {
    readonly minutes: number
  }

/** The counts of the last minutes, for each of the given windows. */
export async function windowCounts(db: Queryable, minutes: readonly number[]): Promise<WindowCounts[]> {
  return minutes.length === 0 ? [] : rows(db, WINDOW_COUNTS, [minutes])
}

/* Paused jobs wait on purpose. */
const OLDEST_DUE = statement(
  'alert_oldest_due',
  `select s.tenant, s.source, s.name as subscriber,
     extract(epoch from now() - min(d.due_at))::float8 as "lagSeconds"
   from ledger.subscriber s
   join ledger.source o on o.tenant = s.tenant and o.name = s.source
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select j.due_at from ledger.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE} and j.due_at <= now()
     order by j.due_at limit 1
   ) d
   where s.paused_at is null and o.paused_at is null
   group by s.tenant, s.source, s.name`,
)

export type OldestDue = JobPlace & { readonly lagSeconds: number }

export async function oldestDue(db: Queryable, shards: number): Promise<OldestDue[]> {
  return rows(db, OLDEST_DUE, [shards])
}

/* Stops counting here: a larger number would not change what an operator has to do. */
const MAX_ATTENTION = 10_000

const IN_ATTENTION = statement(
  'alert_attention',
  `select s.tenant, s.source, s.name as subscriber, count(*)::float8 as jobs
   from (select subscriber from ledger.attention limit ${MAX_ATTENTION}) a
   join ledger.subscriber s on s.id = a.subscriber
   group by s.tenant, s.source, s.name`,
)

export type InAttention = JobPlace & { readonly jobs: number }

export async function inAttention(db: Queryable): Promise<InAttention[]> {
  return rows(db, IN_ATTENTION)
}

/* Excludes the last two hours: a spike is not its own baseline. */
const USUAL_DUPLICATES = statement(
  'alert_usual_duplicates',
  `select p.tenant, p.source, coalesce(sum(r.received), 0)::float8 as received,
     coalesce(sum(r.duplicate), 0)::float8 as duplicate,
     coalesce(extract(epoch from now() - min(r.at)), 0)::float8 / 3600 as "historyHours"
   from json_to_recordset($1::json) p(tenant text, source text)
   left join ledger.rollup r on r.size = 60 and r.tenant = p.tenant and r.source = p.source and r.subscriber = ''
     and r.at > now() - interval '7 days' and r.at < date_trunc('hour', now()) - interval '1 hour'
   group by p.tenant, p.source`,
)

export type UsualDuplicates = AlertSubject & {
  readonly received: number
  readonly duplicate: number
  /** The age of the first bucket. */
  readonly historyHours: number
}

export async function usualDuplicates(
  db: Queryable,
  places: readonly AlertSubject[],
): Promise<UsualDuplicates[]> {
  return places.length === 0 ? [] : rows(db, USUAL_DUPLICATES, [JSON.stringify(places)])
}

const WAS_HEARD = 'r.received + r.duplicate + r.unwanted > 0'

const LAST_HEARD = statement(
  'alert_last_heard',
  `select s.tenant, s.name as source, l.at as "lastAt",
     greatest(0, extract(epoch from now() - l.at) - 600)::float8 as "silentSeconds"
   from ledger.source s
   cross join lateral (
     select r.at from ledger.rollup r
     where r.size = 10 and r.tenant = s.tenant and r.source = s.name and r.subscriber = '' and ${WAS_HEARD}
     order by r.at desc limit 1
   ) l`,
)

export type LastHeard = AlertSubject & {
  /** The start of the ten minutes in which the last delivery arrived. */
  readonly lastAt: Date
  /** The time without deliveries, accurate to ten minutes. */
  readonly silentSeconds: number
}

/** For every source with a delivery in the last week. */
export async function lastHeard(db: Queryable): Promise<LastHeard[]> {
  return rows(db, LAST_HEARD)
}

const USUAL_GAPS = statement(
  'alert_usual_gaps',
  `select p.tenant, p.source, coalesce(max(g.gap), 0)::float8 as "longestGapSeconds", count(g.at)::float8 as buckets,
     coalesce(extract(epoch from now() - min(g.at)), 0)::float8 / 3600 as "historyHours"
   from json_to_recordset($1::json) p(tenant text, source text)
   left join lateral (
     select r.at, extract(epoch from r.at - lag(r.at) over (order by r.at)) as gap
     from ledger.rollup r
     where r.size = 10 and r.tenant = p.tenant and r.source = p.source and r.subscriber = '' and ${WAS_HEARD}
       and r.at > now() - interval '8 days'
   ) g on true
   group by p.tenant, p.source`,
)

export type UsualGaps = AlertSubject & {
  readonly longestGapSeconds: number
  /** The number of ten-minute buckets with a delivery. */
  readonly buckets: number
  readonly historyHours: number
}

export async function usualGaps(db: Queryable, places: readonly AlertSubject[]): Promise<UsualGaps[]> {
  return places.length === 0 ? [] : rows(db, USUAL_GAPS, [JSON.stringify(places)])
}
