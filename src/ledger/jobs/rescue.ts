import { ALONE_FROM, BURIED_AT } from '../../model/suspects.ts'
import * as binary from '../driver/binary.ts'
import { isDistributed, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { JobRef } from './job-ref.ts'

/**
 * Jobs leased to a worker for longer than `olderThanMs`. The worker knows which of them it runs.
 */
const LEASED_TO = statement(
  'leased_to',
  `select j.shard, j.receipt_id as "receiptId", j.subscriber, j.fence
   from generate_series(0, $1::integer - 1) s(shard)
   join ledger.job j on j.shard = s.shard and j.worker = $2::integer and j.state = 'processing'
   where j.started_at < now() - $3::integer * interval '1 millisecond'`,
)

export interface LeaseQuestion {
  readonly shards: number
  readonly worker: number
  readonly olderThanMs: number
}

export async function jobsLeasedTo(db: Queryable, question: LeaseQuestion): Promise<JobRef[]> {
  return rows(db, LEASED_TO, [question.shards, question.worker, question.olderThanMs])
}

/*
 * Rescues the jobs of dead workers in one shard. It decides and writes in one statement: a decision
 * on an older snapshot could overwrite completed work. It raises the fence, so that the writes of a
 * worker that was only frozen are refused. The delay doubles with each crash; model/suspects.ts
 * gives the count at which a job fails for good. Jobs of a process that ended by itself are due at
 * once, and their crash count stays as it was.
 *
 * Orphans are read in the order of the index of leased jobs, worker by worker: only this order
 * makes sure that the planner uses the index. With `=` instead of BETWEEN there is nothing to
 * order, and the planner may read the whole table, with all finished jobs. In key order, all
 * orphans would be sorted each time. SKIP LOCKED never waits, so key order is not needed.
 *
 * A job does not fail for good while the outcome of one of its calls is open: it stops for
 * attention. `asked` reads the same snapshot as the update. So every job in `attention` has an
 * effect that it waits for, even if another job takes that effect over at this moment. Effects are
 * only read here, because they are in other shards.
 */
const OPEN_CALLS = `select l.shard, l.id, l.started_at
     from generate_series(0, (select value from ledger.setting where name = 'shards') - 1) n(shard)
     cross join lateral (
       select * from ledger.effect k
       where k.shard = n.shard and k.receipt_id = j.receipt_id
       offset 0
     ) l
     where l.subscriber = j.subscriber and l.state = 'started' and l.reopened_at is null and l.mode <> 'atLeastOnce'`

const REASON = `case when $4::integer = 0 then 'its process stopped while running it'
         when j.crashes + 1 >= ${BURIED_AT}
         then 'POISON: ' || (j.crashes + 1)::text || ' workers died while running it; in the last ${BURIED_AT - ALONE_FROM} crashes it ran alone in its process'
         else 'its worker died while running it' end`

/*
 * The names of the rescued runs, for logs. OFFSET keeps the search of each receipt by its key. The
 * joins lose no run, because a run in `attention` must be handled even if its names are missing.
 */
const NAMES = `s.source, s.name as "subscriberName", e.event_key as "eventKey", e.event_type as "eventType",
     e.object_id as "objectId"`
const NAMED = `left join ledger.subscriber s on s.id = r.subscriber
   left join lateral (
     select i.event_key, i.event_type, i.object_id from ledger.receipt i
     where i.shard = $1::smallint and i.id = r.receipt_id
     offset 0
   ) e on true`

const RESCUE = statement(
  'rescue',
  `with orphan as materialized (
     select j.at
     from unnest($2::integer[]) dead(worker)
     cross join lateral (
       select l.ctid as at from ledger.job l
       where l.shard = $1::smallint and l.state = 'processing' and l.worker between dead.worker and dead.worker
       order by l.worker limit $3::integer
       for update skip locked
     ) j
     limit $3::integer
   ), rescued as (
     update ledger.job j
     set state = (case when j.crashes + $4::integer < ${BURIED_AT} then 'retrying'
         when exists (${OPEN_CALLS}) then 'attention' else 'failed' end)::ledger.job_state,
       fence = j.fence + 1, crashes = j.crashes + $4::integer, worker = null,
       due_at = now() + $4::integer * least(60, 2 ^ j.crashes) * interval '1 second',
       finished_at = case when j.crashes + $4::integer >= ${BURIED_AT} then now() end,
       reason = ${REASON}
     where j.shard = $1::smallint and j.ctid = any(array(select at from orphan))
     returning j.receipt_id, j.subscriber, j.fence, j.attempt, j.crashes, j.started_at, j.state, j.reason
   ), told as (
     insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
     select $1::smallint, receipt_id, subscriber, fence - 1, attempt, started_at,
       case when $4::integer = 0 then 'returned' else 'crashed' end, reason
     from rescued
   ), asked as (
     insert into ledger.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
     select distinct on (j.receipt_id, j.subscriber) $1::smallint, j.receipt_id, j.subscriber, call.shard, call.id
     from rescued j cross join lateral (${OPEN_CALLS}) call
     where j.state = 'attention'
     order by j.receipt_id, j.subscriber, call.started_at
   )
   select r.receipt_id as "receiptId", r.subscriber, r.attempt, r.state = 'failed' as buried,
     r.state = 'attention' as "needsPerson", ${NAMES}
   from rescued r
   ${NAMED}`,
  { only: 'plain' },
)

/*
 * The same as up to three statements: see driver/shapes.ts. The first decides under the locks of the
 * jobs, and returns the call that each job in `attention` waits for.
 */
const RESCUE_ONLY = statement(
  'rescue_only',
  `with orphan as materialized (
     select j.*, call.shard as effect_shard, call.id as effect_id,
       (case when not j.is_last then 'retrying' when call.id is not null then 'attention' else 'failed' end)::ledger.job_state
         as next_state,
       now() + $4::integer * least(60, 2 ^ j.crashes) * interval '1 second' as next_due_at,
       case when j.is_last then now() end as next_finished_at
     from (
       select l.* from unnest($2::integer[]) dead(worker)
       cross join lateral (
         select k.receipt_id, k.subscriber, k.crashes, k.crashes + $4::integer >= ${BURIED_AT} as is_last
         from ledger.job k
         where k.shard = $1::smallint and k.state = 'processing' and k.worker between dead.worker and dead.worker
         order by k.worker limit $3::integer
         for update skip locked
       ) l
       limit $3::integer
     ) j
     left join lateral (
       select c.* from (${OPEN_CALLS}) c where j.is_last order by c.started_at limit 1
     ) call on true
   ), rescued as (
     update ledger.job j
     set state = o.next_state, fence = j.fence + 1, crashes = j.crashes + $4::integer, worker = null,
       due_at = o.next_due_at, finished_at = o.next_finished_at,
       reason = ${REASON}
     from orphan o
     where j.shard = $1::smallint and j.receipt_id = o.receipt_id and j.subscriber = o.subscriber
     returning j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, j.state, j.reason, o.effect_shard, o.effect_id
   )
   select r.receipt_id as "receiptId", r.subscriber, r.fence - 1 as fence, r.attempt, r.started_at::text as "startedAt",
     r.state::text as state, r.reason, r.effect_shard as "effectShard", r.effect_id as "effectId", ${NAMES}
   from rescued r
   ${NAMED}`,
)

const TELL_RESCUED = statement(
  'tell_rescued',
  `insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
   select $1::smallint, i.receipt_id, i.subscriber, i.fence, i.attempt, i.started_at, $3::text, i.reason
   from json_to_recordset($2::json) i(receipt_id uuid, subscriber integer, fence integer, attempt smallint,
     started_at timestamptz, reason text)`,
)

const ASK = statement(
  'ask_rescued',
  `insert into ledger.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
   select $1::smallint, i.receipt_id, i.subscriber, i.effect_shard, i.effect_id
   from json_to_recordset($2::json) i(receipt_id uuid, subscriber integer, effect_shard smallint, effect_id uuid)`,
)

interface RescuedRun extends Omit<Rescued, 'buried' | 'needsPerson'> {
  readonly fence: number
  readonly startedAt: string
  readonly state: string
  readonly reason: string
  readonly effectShard: number | null
  readonly effectId: string | null
}

function rescueDistributed(db: Queryable, rescue: Rescue): Promise<Rescued[]> {
  const { shard, deadWorkers, limit, isCrash } = rescue
  return together(db, async (client) => {
    const values = [shard, binary.integers(deadWorkers), limit, isCrash ? 1 : 0]
    const runs = await rows<RescuedRun>(client, RESCUE_ONLY, values)
    const told = runs.map((run) => ({
      receipt_id: run.receiptId,
      subscriber: run.subscriber,
      fence: run.fence,
      attempt: run.attempt,
      started_at: run.startedAt,
      reason: run.reason,
      effect_shard: run.effectShard,
      effect_id: run.effectId,
    }))
    const asked = told.filter((_, index) => runs[index]?.state === 'attention')
    if (told.length > 0)
      await change(client, TELL_RESCUED, [shard, JSON.stringify(told), isCrash ? 'crashed' : 'returned'])
    if (asked.length > 0) await change(client, ASK, [shard, JSON.stringify(asked)])
    return runs.map(({ state, ...run }) => ({
      ...run,
      buried: state === 'failed',
      needsPerson: state === 'attention',
    }))
  })
}

export interface Rescue {
  readonly shard: number
  readonly deadWorkers: readonly number[]
  readonly limit: number
  /** True if the workers died, false if they ended by themselves. */
  readonly isCrash: boolean
}

export interface Rescued {
  readonly receiptId: string
  readonly subscriber: number
  readonly attempt: number
  readonly source: string | null
  readonly subscriberName: string | null
  readonly eventKey: string | null
  readonly eventType: string | null
  readonly objectId: string | null
  readonly buried: boolean
  /** It would have failed for good, but the outcome of one of its calls is unknown. */
  readonly needsPerson: boolean
}

export async function rescueJobs(db: Queryable, rescue: Rescue): Promise<Rescued[]> {
  if (isDistributed(db)) return rescueDistributed(db, rescue)
  return rows(db, RESCUE, [
    rescue.shard,
    binary.integers(rescue.deadWorkers),
    rescue.limit,
    rescue.isCrash ? 1 : 0,
  ])
}
