import { type Queryable, rows, statement } from '../driver/statement.ts'
import { IS_SERVED } from '../jobs/served.ts'
import { CLAIMABLE } from '../jobs/states.ts'

/*
 * Gauges. Waiting and running jobs are counted along partial indexes, so that the cost does not
 * grow with history. Failed jobs are not counted here: their number is stored
 * (stats/failure-counts.ts), and the notes that upkeep has not added up yet are added. Unfinished
 * jobs of workers whose lease has ended are `stranded` until they are rescued.
 */
const backlogBy = (tenant: string): string => `with noted as materialized (
     select c.subscriber, sum(c.change) filter (where c.state = 'failed') as failed,
       sum(c.change) filter (where c.state = 'attention') as attention
     from ledger.failure_change c group by c.subscriber
   ), orphaned as materialized (
     select j.subscriber, count(*) as jobs
     from generate_series(0, $1::integer - 1) n(shard)
     -- In the order of the index of leased jobs, so that the planner does not read all finished ones.
     cross join lateral (
       select j.subscriber, j.worker from ledger.job j
       where j.shard = n.shard and j.state = 'processing'
       order by j.worker
     ) j
     where not exists (select from ledger.worker w where w.id = j.worker and w.dead_at is null and w.lease_until > now())
     group by j.subscriber
   )
   select ${tenant} s.source, s.name as subscriber,
     sum(due.waiting)::float8 as waiting, sum(due.retrying)::float8 as retrying,
     sum(coalesce(o.jobs, 0))::float8 as stranded,
     sum(greatest(0, coalesce(t.failed, 0) + coalesce(c.failed, 0)))::float8 as failed,
     sum(greatest(0, coalesce(t.attention, 0) + coalesce(c.attention, 0)))::float8 as attention,
     sum(due.unknown)::float8 as "effectsUnknown",
     coalesce(extract(epoch from now() - min(due.oldest)), 0)::float8 as "lagSeconds",
     sum(case when s.is_served then 0 else due.waiting + due.retrying end)::float8 as unattended
   from (select s.id, s.tenant, s.source, s.name, ${IS_SERVED} as is_served from ledger.subscriber s) s
   cross join lateral (
     select sum(d.waiting) as waiting, sum(d.retrying) as retrying, sum(d.unknown) as unknown, min(d.oldest) as oldest
     from generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select count(*) filter (where j.state = 'received') as waiting,
         count(*) filter (where j.state = 'retrying') as retrying, 0::bigint as unknown,
         min(j.due_at) filter (where j.due_at <= now()) as oldest
       from ledger.job j
       where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE}
       union all
       select 0, 0, count(*), null from ledger.effect e
       where e.shard = n.shard and e.subscriber = s.id and e.state = 'unknown' and e.reopened_at is null
     ) d
   ) due
   left join ledger.failure_total t on t.subscriber = s.id
   left join noted c on c.subscriber = s.id
   left join orphaned o on o.subscriber = s.id
   group by ${tenant} s.source, s.name`

const BACKLOG = statement('backlog', backlogBy(''))
const TENANT_BACKLOG = statement('tenant_backlog', backlogBy('s.tenant,'))

export interface Backlog {
  readonly source: string
  readonly subscriber: string
  readonly waiting: number
  readonly retrying: number
  /** In progress when their worker ended. They run again once they are rescued. */
  readonly stranded: number
  readonly failed: number
  readonly attention: number
  readonly effectsUnknown: number
  /** Age of the oldest job that is due. */
  readonly lagSeconds: number
  /** Waiting jobs of a subscriber that no running worker serves. */
  readonly unattended: number
}

export async function backlog(db: Queryable, shards: number): Promise<Backlog[]> {
  return rows(db, BACKLOG, [shards])
}

export type TenantBacklog = Backlog & { readonly tenant: string }

/** The same, separately for each tenant. */
export async function tenantBacklog(db: Queryable, shards: number): Promise<TenantBacklog[]> {
  return rows(db, TENANT_BACKLOG, [shards])
}
