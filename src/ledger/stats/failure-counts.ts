import type { Pool } from 'pg'
import { inTransaction } from '../driver/in-transaction.ts'
import { isDistributed } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { NEEDS_OPERATOR } from '../jobs/states.ts'

/*
 * Counts of failed jobs. A trigger of ledger.job adds a note to `failure_change` for each job that
 * enters or leaves `failed` or `attention`, in the same commit. Here the notes are added to three
 * tables: totals by subscriber, groups by error, and hours of a group. Readers add the remaining
 * notes, so that their numbers are exact at any time.
 */

/*
 * Allows one process at a time. The lock belongs to the transaction, so that it works behind a
 * pooler, and to the table, so that ledgers of one database do not share it. The first number is
 * any fixed one: "fail" in ASCII. The next statement must be a separate one, with a snapshot from
 * after the lock.
 */
const LOCK = statement(
  'lock_failure_counts',
  `select pg_try_advisory_xact_lock(1717660012, 'ledger.failure_total'::regclass::oid::integer) as held`,
)

async function isLocked(db: Queryable): Promise<boolean> {
  const [lock] = await rows<{ held: boolean }>(db, LOCK)
  return lock?.held === true
}

/*
 * The statements that add notes up. A plain ledger runs them under WITH, in one statement; a
 * distributed one sends the notes as JSON to each of them (driver/shapes.ts).
 */
const totalsFrom = (
  taken: string,
): string => `insert into ledger.failure_total as t (subscriber, failed, attention, recounted_at)
     select subscriber, coalesce(sum(change) filter (where state = 'failed'), 0),
       coalesce(sum(change) filter (where state = 'attention'), 0), '-infinity'
     from ${taken} group by subscriber
     on conflict (subscriber) do update
     set failed = t.failed + excluded.failed, attention = t.attention + excluded.attention`

const groupsFrom = (
  taken: string,
): string => `insert into ledger.failure_group as g (subscriber, fingerprint, jobs, first_at, last_at, error, receipts)
     select subscriber, fingerprint, sum(change), min(at), max(at),
       coalesce((array_agg(error order by at desc, receipt_id) filter (where change > 0))[1], ''),
       coalesce((array_agg(receipt_id order by at desc, receipt_id) filter (where change > 0))[1:$2::integer], '{}')
     from ${taken} where state = 'failed' group by subscriber, fingerprint
     on conflict (subscriber, fingerprint) do update
     set jobs = g.jobs + excluded.jobs, first_at = least(g.first_at, excluded.first_at),
       last_at = greatest(g.last_at, excluded.last_at),
       error = case when cardinality(excluded.receipts) > 0 then excluded.error else g.error end,
       -- trim_array, because Citus 13.2 crashes while it plans a slice here.
       receipts = trim_array(excluded.receipts || g.receipts,
         greatest(0, cardinality(excluded.receipts) + cardinality(g.receipts) - $2::integer))`

const hoursFrom = (
  taken: string,
): string => `insert into ledger.failure_hour as h (subscriber, fingerprint, at, jobs)
     select subscriber, fingerprint, date_trunc('hour', at, 'UTC'), sum(change)
     from ${taken} where state = 'failed' group by 1, 2, 3
     on conflict (subscriber, fingerprint, at) do update set jobs = h.jobs + excluded.jobs`

/* In the order of their ids: the note that a job failed is taken before the note that it left. */
const TAKE = `delete from ledger.failure_change
     where id = any(array(select id from ledger.failure_change order by id limit $1::integer))
     returning id, at, receipt_id, subscriber, change, state, fingerprint, error`

const ADD_UP = statement(
  'add_up_failures',
  `with taken as materialized (
     ${TAKE}
   ), totals as (
     ${totalsFrom('taken')}
   ), groups as (
     ${groupsFrom('taken')}
   ), hours as (
     ${hoursFrom('taken')}
   )
   select subscriber, count(*)::integer as changes from taken group by subscriber`,
  { only: 'plain' },
)

const TAKE_NOTES = statement(
  'take_failure_notes',
  `with taken as (
     ${TAKE}
   )
   select row_to_json(taken)::text as note, subscriber from taken`,
)

/** Notes that were sent as JSON. */
const NOTES = `json_to_recordset($1::json) taken(at timestamptz, receipt_id uuid, subscriber integer, change integer,
       state text, fingerprint text, error text)`
const ADD_TOTALS = statement('add_failure_totals', totalsFrom(NOTES))
const ADD_GROUPS = statement('add_failure_groups', groupsFrom(NOTES))
const ADD_HOURS = statement('add_failure_hours', hoursFrom(NOTES))

async function addUp(client: Queryable, limit: number): Promise<AddedUp[]> {
  if (!isDistributed(client)) return rows<AddedUp>(client, ADD_UP, [limit, KEPT_RECEIPTS])
  const taken = await rows<{ note: string; subscriber: number }>(client, TAKE_NOTES, [limit])
  if (taken.length === 0) return []
  const notes = `[${taken.map(({ note }) => note).join(',')}]`
  await change(client, ADD_TOTALS, [notes])
  await change(client, ADD_GROUPS, [notes, KEPT_RECEIPTS])
  await change(client, ADD_HOURS, [notes])
  return taken.map(({ subscriber }) => ({ subscriber, changes: 1 }))
}

interface AddedUp {
  readonly subscriber: number
  readonly changes: number
}

const DROP_EMPTY_GROUPS = statement(
  'drop_empty_failure_groups',
  `delete from ledger.failure_group where subscriber = any($1::integer[]) and jobs <= 0`,
)

const DROP_EMPTY_HOURS = statement(
  'drop_empty_failure_hours',
  `delete from ledger.failure_hour where subscriber = any($1::integer[]) and jobs <= 0`,
)

/** Receipts that are stored for each group: more than are shown, because some are replayed. */
const KEPT_RECEIPTS = 10

/** Adds up to `limit` notes. Returns how many; 0 also if another process is doing so. */
export function addUpFailures(pool: Pool, limit: number): Promise<number> {
  return inTransaction(pool, async (client) => {
    if (!(await isLocked(client))) {
      await client.query('rollback')
      return 0
    }
    const added = await addUp(client, limit)
    const subscribers = added.map(({ subscriber }) => subscriber)
    await change(client, DROP_EMPTY_GROUPS, [subscribers])
    await change(client, DROP_EMPTY_HOURS, [subscribers])
    await client.query('commit')
    return added.reduce((sum, { changes }) => sum + changes, 0)
  })
}

/*
 * Counts the jobs of one subscriber one by one. Writers need not stop: one statement has one
 * snapshot, so the notes that it deletes are of changes that its count contains, and every later
 * change adds a note that it does not see.
 */
const COUNT = `with noted as (
     delete from ledger.failure_change where subscriber = $2::integer
   ), counted as materialized (
     select state, receipt_id, at, date_trunc('hour', at, 'UTC') as hour, error,
       ledger.failure_fingerprint(error) as fingerprint
     from generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select j.state, j.receipt_id, coalesce(j.finished_at, j.born_at) as at,
         case when j.state = 'failed' then ledger.failure_text(j.reason) end as error
       from ledger.job j
       where j.shard = n.shard and j.subscriber = $2::integer and j.state in ${NEEDS_OPERATOR}
     ) j
   )`

const setTotals = (
  counted: string,
): string => `insert into ledger.failure_total (subscriber, failed, attention, recounted_at)
     select $2::integer, count(*) filter (where state = 'failed'), count(*) filter (where state = 'attention'), now()
     from ${counted}
     on conflict (subscriber) do update
     set failed = excluded.failed, attention = excluded.attention, recounted_at = excluded.recounted_at`

const setGroups = (
  counted: string,
): string => `insert into ledger.failure_group as g (subscriber, fingerprint, jobs, first_at, last_at, error, receipts)
     select $2::integer, fingerprint, count(*), min(at), max(at), (array_agg(error order by at desc, receipt_id))[1],
       (array_agg(receipt_id order by at desc, receipt_id))[1:$3::integer]
     from ${counted} where state = 'failed' group by fingerprint
     on conflict (subscriber, fingerprint) do update
     set jobs = excluded.jobs, first_at = least(g.first_at, excluded.first_at),
       last_at = greatest(g.last_at, excluded.last_at), error = excluded.error, receipts = excluded.receipts`

const setHours = (
  counted: string,
): string => `insert into ledger.failure_hour (subscriber, fingerprint, at, jobs)
     select $2::integer, fingerprint, hour, count(*)
     from ${counted} where state = 'failed' group by fingerprint, hour
     on conflict (subscriber, fingerprint, at) do update set jobs = excluded.jobs`

const dropGroups = (
  counted: string,
): string => `delete from ledger.failure_group g where g.subscriber = $2::integer
       and not exists (select from ${counted} where c.state = 'failed' and c.fingerprint = g.fingerprint)`

const dropHours = (
  counted: string,
): string => `delete from ledger.failure_hour h where h.subscriber = $2::integer and not exists (
     select from ${counted} where c.state = 'failed' and c.fingerprint = h.fingerprint and c.hour = h.at)`

const RECOUNT = statement(
  'recount_failures',
  `${COUNT}, totals as (
     ${setTotals('counted')}
   ), groups as (
     ${setGroups('counted')}
   ), hours as (
     ${setHours('counted')}
   ), old_groups as (
     ${dropGroups('counted c')}
   )
   ${dropHours('counted c')}`,
  { only: 'plain' },
)

const COUNT_FAILED = statement(
  'count_failed',
  `${COUNT}
   select row_to_json(counted)::text as job, state = 'failed' as "isFailed" from counted`,
)

/** Failed jobs that were sent as JSON. */
const JOBS = `json_to_recordset($1::json) c(state text, receipt_id uuid, at timestamptz, hour timestamptz, error text,
       fingerprint text)`
const RECOUNT_APART = [
  statement('set_failure_hours', setHours(JOBS)),
  statement('drop_old_failure_groups', dropGroups(JOBS)),
  statement('drop_old_failure_hours', dropHours(JOBS)),
]
const SET_TOTALS = statement(
  'set_failure_totals',
  `insert into ledger.failure_total (subscriber, failed, attention, recounted_at)
   values ($1::integer, $2::bigint, $3::bigint, now())
   on conflict (subscriber) do update
   set failed = excluded.failed, attention = excluded.attention, recounted_at = excluded.recounted_at`,
)
const SET_GROUPS = statement('set_failure_groups', setGroups(JOBS))

async function recount(client: Queryable, shards: number, subscriber: number): Promise<void> {
  if (!isDistributed(client)) {
    await change(client, RECOUNT, [shards, subscriber, KEPT_RECEIPTS])
    return
  }
  const counted = await rows<{ job: string; isFailed: boolean }>(client, COUNT_FAILED, [shards, subscriber])
  const failed = counted.filter(({ isFailed }) => isFailed).length
  await change(client, SET_TOTALS, [subscriber, failed, counted.length - failed])
  const jobs = `[${counted.map(({ job }) => job).join(',')}]`
  await change(client, SET_GROUPS, [jobs, subscriber, KEPT_RECEIPTS])
  for (const each of RECOUNT_APART) await change(client, each, [jobs, subscriber])
}

/** False: another process is adding up or counting. */
export function recountFailures(pool: Pool, shards: number, subscriber: number): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const isOurs = await isLocked(client)
    if (isOurs) await recount(client, shards, subscriber)
    await client.query('commit')
    return isOurs
  })
}

/* Excludes subscribers with more failed jobs than a statement should read. */
const WORK = statement(
  'failure_count_work',
  `select exists (select from ledger.failure_change) as "hasChanges", (
     select s.id from ledger.subscriber s
     left join ledger.failure_total t on t.subscriber = s.id
     where coalesce(t.recounted_at, '-infinity') < now() - $1::integer * interval '1 hour'
       and coalesce(t.failed + t.attention, 0) <= $2::integer
     order by t.recounted_at nulls first, s.id limit 1
   ) as "toRecount"`,
)

export interface FailureCountWork {
  readonly hasChanges: boolean
  /** The subscriber whose jobs were counted longest ago, if a recount is due. */
  readonly toRecount: number | null
}

export async function failureCountWork(
  db: Queryable,
  { everyHours, maxJobs }: { readonly everyHours: number; readonly maxJobs: number },
): Promise<FailureCountWork> {
  const [work] = await rows<FailureCountWork>(db, WORK, [everyHours, maxJobs])
  return work ?? { hasChanges: false, toRecount: null }
}
