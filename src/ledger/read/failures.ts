import { type Queryable, rows, statement } from '../driver/statement.ts'
import { NEEDS_OPERATOR } from '../jobs/states.ts'
import { FINGERPRINT } from './failure-text.ts'

/*
 * Failed jobs, grouped by their error. Without a filter on types and times, the groups are read
 * from the counts (stats/failure-counts.ts): they include every failure, and the cost depends only
 * on the number of groups. With such a filter, the newest failed jobs are read and grouped, up to a
 * limit.
 */

export interface FailureGroup {
  readonly tenant: string
  readonly source: string
  readonly subscriber: string
  /** Identifies the error without the ids of a case: the same for all jobs of the group. */
  readonly fingerprint: string
  /** The error of the latest job in the group. */
  readonly error: string
  /** That are failed now. */
  readonly jobs: number
  /** When the error was first and last seen, including jobs that were replayed since. */
  readonly firstAt: Date
  readonly lastAt: Date
  /** Some of the latest jobs that are failed now. */
  readonly receiptIds: readonly string[]
  /** The failed jobs per hour, for the latest hours with failures. `at` is ISO 8601. */
  readonly hours: readonly { readonly at: string; readonly jobs: number }[]
}

export interface FailureGroups {
  /** The largest first. */
  readonly groups: readonly FailureGroup[]
  /** False: there are failures that were not read, or groups that are not listed. */
  readonly isComplete: boolean
}

interface SubscriberFilter {
  readonly shards: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  /** How many receipts are named for each group. */
  readonly examples: number
  /** How many hours are counted for each group: the latest with failures. */
  readonly hours: number
}

/** Selects the subscribers `s` of a query. */
const WANTED = `($2::text is null or s.tenant = $2::text) and ($3::text is null or s.source = $3::text)
       and ($4::text is null or s.name = $4::text)`

/*
 * The largest and the latest groups of each subscriber: a new error is listed, however small its
 * group is. Includes the notes that upkeep has not added up yet. A receipt is named only if its job
 * is still failed, with this error.
 */
const COUNTED_GROUPS = statement(
  'counted_failure_groups',
  `with wanted as materialized (
     select s.id, s.tenant, s.source, s.name from ledger.subscriber s where ${WANTED}
   ), noted as materialized (
     select c.subscriber, c.fingerprint, sum(c.change) as jobs, min(c.at) as first_at, max(c.at) as last_at,
       (array_agg(c.error order by c.at desc, c.receipt_id) filter (where c.change > 0))[1] as error,
       (array_agg(c.receipt_id order by c.at desc, c.receipt_id) filter (where c.change > 0))[1:10] as receipts
     from ledger.failure_change c where c.state = 'failed' group by c.subscriber, c.fingerprint
   ), named as materialized (
     select g.subscriber, g.fingerprint from wanted w cross join lateral (
       select g.subscriber, g.fingerprint from ledger.failure_group g
       where g.subscriber = w.id order by g.jobs desc limit $5::integer + 1
     ) g
     union
     select g.subscriber, g.fingerprint from wanted w cross join lateral (
       select g.subscriber, g.fingerprint from ledger.failure_group g
       where g.subscriber = w.id order by g.last_at desc limit $6::integer
     ) g
     union
     select c.subscriber, c.fingerprint from noted c join wanted w on w.id = c.subscriber
   ), summed as materialized (
     select w.id, w.tenant, w.source, w.name, n.fingerprint, coalesce(g.jobs, 0) + coalesce(c.jobs, 0) as jobs,
       least(g.first_at, c.first_at) as first_at, greatest(g.last_at, c.last_at) as last_at,
       coalesce(c.error, g.error) as error, coalesce(c.receipts, '{}') || coalesce(g.receipts, '{}') as receipts
     from named n
     join wanted w on w.id = n.subscriber
     left join ledger.failure_group g on g.subscriber = n.subscriber and g.fingerprint = n.fingerprint
     left join noted c on c.subscriber = n.subscriber and c.fingerprint = n.fingerprint
   ), listed as materialized (
     select * from (
       select s.*, row_number() over (order by s.jobs desc, s.last_at desc) as by_size,
         row_number() over (order by s.last_at desc) as by_time, count(*) over () as of
       from summed s where s.jobs > 0
     ) s
     where s.by_size <= $5::integer or s.by_time <= $6::integer
   ), hours as materialized (
     select id, fingerprint, at, sum(jobs) as jobs from (
       select l.id, l.fingerprint, h.at, h.jobs from listed l cross join lateral (
         select h.at, h.jobs from ledger.failure_hour h
         where h.subscriber = l.id and h.fingerprint = l.fingerprint
         order by h.at desc limit $8::integer
       ) h
       union all
       select c.subscriber, c.fingerprint, date_trunc('hour', c.at, 'UTC'), c.change
       from ledger.failure_change c where c.state = 'failed'
     ) h
     group by id, fingerprint, at having sum(jobs) > 0
   ), series as materialized (
     select id, fingerprint, jsonb_agg(jsonb_build_object('at', at, 'jobs', jobs) order by at) as list
     from (
       select h.*, row_number() over (partition by id, fingerprint order by at desc) as place from hours h
     ) h
     where place <= $8::integer group by id, fingerprint
   )
   select l.tenant, l.source, l.name as subscriber, l.fingerprint, l.error, l.jobs::float8 as jobs,
     l.first_at as "firstAt", l.last_at as "lastAt", coalesce(failed.ids, '{}') as "receiptIds",
     coalesce(s.list, '[]') as hours,
     l.of > count(*) over ()
       or exists (select from named group by subscriber having count(*) > $5::integer) as "isCut"
   from listed l
   left join series s on s.id = l.id and s.fingerprint = l.fingerprint
   cross join lateral (
     select array_agg(r.id order by r.place) as ids from (
       select r.id, r.place from (
         select k.id, min(k.place) as place from unnest(l.receipts) with ordinality k(id, place) group by k.id
       ) r
       where (
         select ${FINGERPRINT('j.reason')} = l.fingerprint from ledger.job j
         where j.shard = get_byte(uuid_send(r.id), 0) % $1::integer and j.receipt_id = r.id
           and j.subscriber = l.id and j.state = 'failed'
         limit 1)
       order by r.place limit $7::integer
     ) r
   ) failed
   order by l.jobs desc, l.last_at desc, l.tenant, l.source, l.name, l.fingerprint`,
)

export interface CountedQuestion extends SubscriberFilter {
  /** The number of listed groups: the largest, and in addition the latest. */
  readonly largest: number
  readonly latest: number
}

/** Groups of all failed jobs. */
export async function countedGroups(db: Queryable, question: CountedQuestion): Promise<FailureGroups> {
  const found = await rows<FailureGroup & { isCut: boolean }>(db, COUNTED_GROUPS, [
    question.shards,
    question.tenant ?? null,
    question.source ?? null,
    question.subscriber ?? null,
    question.largest,
    question.latest,
    question.examples,
    question.hours,
  ])
  return {
    groups: found.map(({ isCut: _, ...group }) => group),
    isComplete: !found.some(({ isCut }) => isCut),
  }
}

/*
 * Reads the newest failed jobs along `job_failed`, the same number for each shard and subscriber.
 * If a shard has more, its subscriber is complete up to the nearest such end. Types are compared
 * afterwards: a type without failures must not make it read all failed jobs.
 */
const NEWEST_GROUPS = statement(
  'newest_failure_groups',
  `with walked as materialized (
     select s.id, s.tenant, s.source, s.name, j.*
     from ledger.subscriber s
     cross join generate_series(0, $1::integer - 1) n(shard)
     cross join lateral (
       select n.shard, j.receipt_id, j.finished_at, j.state, coalesce(j.reason, '') as reason,
         row_number() over (order by j.finished_at desc) as place
       from (
         -- Reads both states along the index, and filters later. With a condition on one state, the
         -- planner expects few jobs in the index, and would read and sort all of them.
         select j.receipt_id, j.reason, j.finished_at, j.state from ledger.job j
         where j.shard = n.shard and j.subscriber = s.id and j.state in ${NEEDS_OPERATOR}
           and j.finished_at >= $6::timestamptz and j.finished_at < $7::timestamptz
         order by j.finished_at desc limit $8::integer
       ) j
     ) j
     where ${WANTED}
   ), ends as materialized (
     select id, max(finished_at) as at from walked where place = $8::integer group by id
   ), newest as materialized (
     select w.* from walked w left join ends e on e.id = w.id
     where w.state = 'failed' and (e.at is null or w.finished_at >= e.at) and ($5::text is null or (
       select r.event_type like $5::text from ledger.receipt r
       where r.shard = w.shard and r.id = w.receipt_id limit 1))
   ), texts as materialized (
     -- Many failures share a text. A fingerprint is the most expensive part of this query, so each
     -- text gets one.
     select reason, ledger.failure_text(reason) as error, ${FINGERPRINT('reason')} as fingerprint
     from (select distinct reason from newest) d
   ), grouped as (
     select n.tenant, n.source, n.name as subscriber, t.fingerprint,
       (array_agg(t.error order by n.finished_at desc, n.receipt_id))[1] as error, count(*)::float8 as jobs,
       min(n.finished_at) as "firstAt", max(n.finished_at) as "lastAt",
       (array_agg(n.receipt_id order by n.finished_at desc, n.receipt_id))[1:$9::integer] as "receiptIds",
       array_agg(n.finished_at) as times
     from newest n join texts t using (reason)
     group by n.tenant, n.source, n.name, t.fingerprint
   )
   select g.tenant, g.source, g.subscriber, g.fingerprint, g.error, g.jobs, g."firstAt", g."lastAt", g."receiptIds",
     hours.list as hours, exists (select from ends) as "isCut"
   from (select) one
   left join grouped g on true
   left join lateral (
     select jsonb_agg(jsonb_build_object('at', h.hour, 'jobs', h.jobs) order by h.hour) as list
     from (
       select date_trunc('hour', t, 'UTC') as hour, count(*) as jobs from unnest(g.times) t
       group by 1 order by 1 desc limit $10::integer
     ) h
   ) hours on true
   order by g.jobs desc, g."lastAt" desc, g.tenant, g.source, g.subscriber, g.fingerprint`,
)

export interface NewestQuestion extends SubscriberFilter {
  /** A pattern of LIKE. */
  readonly typeLike?: string | undefined
  /** Of the failure. */
  readonly since?: Date | undefined
  readonly until?: Date | undefined
  /** How many failed jobs of each shard and subscriber are read, newest first. */
  readonly walk: number
}

/** Groups of the newest failed jobs that match. */
export async function newestGroups(db: Queryable, question: NewestQuestion): Promise<FailureGroups> {
  const found = await rows<Partial<FailureGroup> & { isCut: boolean }>(db, NEWEST_GROUPS, [
    question.shards,
    question.tenant ?? null,
    question.source ?? null,
    question.subscriber ?? null,
    question.typeLike ?? null,
    question.since ?? '-infinity',
    question.until ?? 'infinity',
    question.walk,
    question.examples,
    question.hours,
  ])
  return {
    groups: found
      .filter(({ fingerprint }) => fingerprint !== null)
      .map(({ isCut: _, ...group }) => group as FailureGroup),
    isComplete: !found.some(({ isCut }) => isCut),
  }
}
