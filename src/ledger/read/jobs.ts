import { type Queryable, rows, statement } from '../driver/statement.ts'
import { IS_SERVED } from '../jobs/served.ts'
import { CLAIMABLE, NEEDS_OPERATOR } from '../jobs/states.ts'

/*
 * Gauges. They read only the partial indexes of unfinished and failed work, so their cost does not
 * grow with history.
 */
const BACKLOG = statement(
  'backlog',
  `select s.source, s.name as subscriber,
     sum(due.waiting)::float8 as waiting, sum(due.retrying)::float8 as retrying, sum(due.failed)::float8 as failed,
     sum(due.attention)::float8 as attention, sum(due.unknown)::float8 as "effectsUnknown",
     coalesce(extract(epoch from now() - min(due.oldest)), 0)::float8 as "lagSeconds",
     sum(case when s.is_served then 0 else due.waiting + due.retrying end)::float8 as unattended
   from (select s.id, s.source, s.name, ${IS_SERVED} as is_served from hookonce.subscriber s) s
   cross join generate_series(0, $1::integer - 1) n(shard)
   cross join lateral (
     select count(*) filter (where j.state = 'received') as waiting,
       count(*) filter (where j.state = 'retrying') as retrying,
       0::bigint as failed, 0::bigint as attention, 0::bigint as unknown,
       min(j.due_at) filter (where j.due_at <= now()) as oldest
     from hookonce.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE}
     union all
     select 0, 0, count(*) filter (where j.state = 'failed'), count(*) filter (where j.state = 'attention'), 0, null
     from hookonce.job j
     where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR}
     union all
     select 0, 0, 0, 0, count(*), null from hookonce.effect e
     where e.shard = n.shard and e.subscriber = s.id and e.state = 'unknown' and e.reopened_at is null
   ) due
   group by s.source, s.name`,
)

export interface Backlog {
  readonly source: string
  readonly subscriber: string
  readonly waiting: number
  readonly retrying: number
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

/*
 * Failed jobs, grouped by their error: the first line of the reason, without the words that say why
 * it was final. Long words with a digit are ids of the case, so they count as the same word. Reads
 * the newest failures only, up to the limit, along the partial index of failures.
 */
const FAILURES = statement(
  'failures',
  `with latest as (
     select s.tenant, s.source, s.name, j.receipt_id, j.finished_at,
       regexp_replace(split_part(coalesce(j.reason, ''), E'\\n', 1),
         '^(permanent|gave up after [0-9.]+ (attempts|hours)): ', '') as error
     from hookonce.subscriber s
     cross join generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select j.receipt_id, j.reason, j.finished_at from hookonce.job j
       where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR} and j.state = 'failed'
         and j.finished_at >= $6::timestamptz and j.finished_at < $7::timestamptz
         and ($5::text is null or (
           select r.event_type like $5::text from hookonce.receipt r
           where r.shard = n.shard and r.id = j.receipt_id limit 1))
       order by j.finished_at desc limit $8::integer
     ) j
     where ($2::text is null or s.tenant = $2::text) and ($3::text is null or s.source = $3::text)
       and ($4::text is null or s.name = $4::text)
     order by j.finished_at desc limit $8::integer
   )
   select tenant, source, name as subscriber,
     (array_agg(left(error, 300) order by finished_at desc))[1] as error, count(*)::float8 as jobs,
     min(finished_at) as "firstAt", max(finished_at) as "lastAt",
     (array_agg(receipt_id order by finished_at desc))[1:$9::integer] as "receiptIds"
   from latest
   group by tenant, source, name, regexp_replace(left(error, 300), '(?=[\\w-]*\\d)[\\w-]{8,}', '#', 'g')
   order by jobs desc, "lastAt" desc, tenant, source, name`,
)

export interface FailureQuestion {
  readonly shards: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** How many failed jobs are read, newest first. */
  readonly limit: number
  /** How many receipts are named for each group. */
  readonly examples: number
}

export interface FailureGroup {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  /** Of the latest job in the group. */
  readonly error: string
  readonly jobs: number
  readonly firstAt: Date
  readonly lastAt: Date
  /** Of the latest jobs in the group. */
  readonly receiptIds: readonly string[]
}

/** The largest groups first. */
export async function failures(db: Queryable, question: FailureQuestion): Promise<FailureGroup[]> {
  return rows(db, FAILURES, [
    question.shards,
    question.tenant ?? null,
    question.source ?? null,
    question.subscriber ?? null,
    question.typeLike ?? null,
    question.since ?? '-infinity',
    question.until ?? 'infinity',
    question.limit,
    question.examples,
  ])
}
