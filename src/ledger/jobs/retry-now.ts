import * as binary from '../driver/binary.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import { CLAIMABLE } from './states.ts'

/*
 * An operator lets jobs that wait for their next attempt run now. Their attempts stay counted. A
 * job without a due time waits for an earlier one with its order key, and is left alone.
 */
const IS_WAITING = `j.state in ${CLAIMABLE} and j.state = 'retrying' and j.due_at > now() and j.due_at < 'infinity'`

const RETRYING = statement(
  'retrying_jobs',
  `select j.receipt_id as "receiptId", s.id as subscriber, s.tenant, s.source, s.name, j.reason, j.attempt,
     j.due_at as "dueAt"
   from ledger.subscriber s
   cross join lateral (
     select j.receipt_id, j.reason, j.attempt, j.due_at from ledger.job j
     where j.shard = $1::smallint and j.subscriber = s.id and ${IS_WAITING}
       and ($6::uuid is null or j.receipt_id = $6::uuid)
     order by j.due_at limit $5::integer
   ) j
   where ($2::text is null or s.tenant = $2::text) and ($3::text is null or s.source = $3::text)
     and ($4::text is null or s.name = $4::text)
   order by j.due_at limit $5::integer`,
)

export interface RetryingQuestion {
  readonly shard: number
  readonly tenant?: string | undefined
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly receiptId?: string | undefined
  readonly limit: number
}

export interface RetryingJob {
  readonly receiptId: string
  readonly subscriber: number
  readonly tenant: string
  readonly source: string
  readonly name: string
  readonly reason: string | null
  readonly attempt: number
  readonly dueAt: Date
}

/** Jobs whose next attempt is not due yet, the next one first. */
export async function retryingJobs(db: Queryable, question: RetryingQuestion): Promise<RetryingJob[]> {
  return rows(db, RETRYING, [
    question.shard,
    question.tenant ?? null,
    question.source ?? null,
    question.subscriber ?? null,
    question.limit,
    question.receiptId ?? null,
  ])
}

/* SKIP LOCKED: a worker is about to claim the job. LATERAL with LIMIT probes the primary key. */
const RETRY_NOW = statement(
  'retry_now',
  `with picked as materialized (
     select j.at
     from unnest($2::uuid[], $3::integer[]) p(receipt_id, subscriber)
     cross join lateral (
       select k.ctid as at, k.state, k.due_at from ledger.job k
       where k.shard = $1::smallint and k.receipt_id = p.receipt_id and k.subscriber = p.subscriber
       limit 1
       for update skip locked
     ) j
     where ${IS_WAITING}
   )
   update ledger.job j set due_at = now()
   where j.shard = $1::smallint and j.ctid = any(array(select at from picked))`,
)

/** Makes jobs due. Returns the count: jobs that have started or ended meanwhile do not change. */
export async function retryNow(
  db: Queryable,
  shard: number,
  jobs: readonly Pick<RetryingJob, 'receiptId' | 'subscriber'>[],
): Promise<number> {
  return change(db, RETRY_NOW, [
    shard,
    binary.uuids(jobs.map(({ receiptId }) => receiptId)),
    binary.integers(jobs.map(({ subscriber }) => subscriber)),
  ])
}
