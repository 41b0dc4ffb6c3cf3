import { type FinishedState, isFinished, type JobState } from '../../model/job-state.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { CLAIMABLE } from '../jobs/states.ts'
import {
  DIRECTION_SQL,
  type DirectionSql,
  type EventFields,
  type EventPosition,
  type EventRow,
  eventsOf,
  fieldValues,
  page,
  RECEIPT,
  RECEIPT_FILTER,
  START,
  type WalkDirection,
} from './event-page.ts'
import { HAS_ERROR } from './failure-text.ts'

/*
 * Events with a job that is not finished. Usually there are few such jobs, anywhere in a long
 * history. So they are read from their own indexes: all of them, or none if there are more than
 * $2 - 1. $15 is a pattern or a fingerprint of the error.
 */

/** Whether jobs in this state can be read this way. */
export function isFew(state: JobState | undefined): state is Exclude<JobState, FinishedState> {
  return state !== undefined && !isFinished(state)
}

/* Along `job_due`. Its states are compared later: a scan for the rarer one could be long. */
const CLAIMABLE_JOBS = `(
       select j.* from generate_series(0, $1::integer - 1) n(shard)
       cross join ledger.subscriber s
       cross join lateral (
         select j.shard, j.receipt_id, j.subscriber from ledger.job j
         where j.shard = n.shard and j.subscriber = s.id and j.state in ${CLAIMABLE}
         order by j.due_at limit $2::integer
       ) j
       where $9::text in ${CLAIMABLE} and ($6::text is null or s.tenant = $6::text)
         and ($7::text is null or s.source = $7::text) and ($8::text is null or s.name = $8::text)
       limit $2::integer)`

/* Along `job_leased`. */
const RUNNING_JOBS = `(
       select j.* from generate_series(0, $1::integer - 1) n(shard)
       cross join lateral (
         select j.shard, j.receipt_id, j.subscriber from ledger.job j
         where j.shard = n.shard and j.state = 'processing' order by j.worker limit $2::integer
       ) j
       where $9::text = 'processing' limit $2::integer)`

/* Every job in `attention` has a row for each effect that it waits for. */
const JOBS_IN_ATTENTION = `(
       select a.shard, a.receipt_id, a.subscriber from ledger.attention a
       where $9::text = 'attention' limit $2::integer)`

const few = ({ order, beyond }: DirectionSql): string => `with job as materialized (
     ${CLAIMABLE_JOBS} union all ${RUNNING_JOBS} union all ${JOBS_IN_ATTENTION}
   ), ending as materialized (
     select now() as at, '00000000-0000-0000-0000-000000000000'::uuid as id
     where (select count(*) from job) >= $2::integer
   ), matched as materialized (
     select w.*, t.at from (
       -- Among unfinished jobs, only those in attention have a finished_at.
       select job.shard, job.receipt_id as id, max(j.finished_at) as failed_at from job
       join ledger.subscriber b on b.id = job.subscriber
       -- The limits keep the planner from reading all jobs or all receipts, to hash them.
       cross join lateral (
         select j.state, j.reason, j.finished_at from ledger.job j
         where j.shard = job.shard and j.receipt_id = job.receipt_id and j.subscriber = job.subscriber
         limit 1
       ) j
       where not exists (select from ending) and j.state::text = $9::text
         and ($8::text is null or b.name = $8::text) and ${HAS_ERROR('j.reason', '$15')}
       group by 1, 2
     ) e
     cross join lateral (
       select ${RECEIPT} from ledger.receipt r where r.shard = e.shard and r.id = e.id limit 1
     ) w
     cross join lateral (select coalesce(e.failed_at, w.received_at) as at) t
     where ${RECEIPT_FILTER} and w.received_at >= $10::timestamptz and w.received_at < $11::timestamptz
       and ${beyond('t.at', 'w.id', ['$4::timestamptz', '$5::uuid'])}
     order by ${order('t.at', 'w.id')} limit $3::integer
   )${page(order('m.at', 'm.id'))}`

const STATEMENTS = {
  older: statement('list_few_events', few(DIRECTION_SQL.older)),
  newer: statement('list_few_events_back', few(DIRECTION_SQL.newer)),
} as const

export interface FewQuestion extends EventFields {
  readonly direction: WalkDirection
  readonly shards: number
  /** The maximum number of jobs that are read. */
  readonly most: number
  readonly limit: number
  readonly from?: EventPosition | undefined
  /** A pattern of LIKE, or a fingerprint. */
  readonly error?: string | undefined
}

/**
 * In the direction of the walk: by arrival; in `attention` by the time of the failure. Undefined:
 * there are too many such jobs.
 */
export async function readFewEvents(
  db: Queryable,
  question: FewQuestion,
): Promise<readonly EventRow[] | undefined> {
  const { direction, from = START[direction] } = question
  const found = await rows<{ walkedTo: string | null; id: string | null }>(db, STATEMENTS[direction], [
    question.shards,
    question.most + 1,
    question.limit,
    from.at,
    from.id,
    ...fieldValues(question),
    question.error ?? null,
  ])
  return found[0]?.walkedTo == null ? eventsOf(found) : undefined
}
