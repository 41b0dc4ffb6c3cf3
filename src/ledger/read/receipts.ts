import { type Queryable, rows, statement } from '../driver/statement.ts'
import { type EffectStory, effectsOfReceipt } from '../effects/effects.ts'
import { CLAIMABLE } from '../jobs/states.ts'
import { type AuditRow, auditOf } from './audit.ts'
import { idRange } from './id-prefix.ts'
import { JOB_OUTCOME } from './job-outcome.ts'

/* Plain reads: they lock nothing and may run on a replica. */

/* By the full id or by the beginning of one. */
const FIND_RECEIPTS = statement(
  'find_receipts',
  `select r.shard, r.id, r.received_at as "receivedAt", r.occurred_at as "occurredAt", r.tenant, r.source,
     r.event_key as "eventKey", r.event_type as "eventType", r.object_id as "objectId", r.secret,
     encode(coalesce(r.body_sha256, sha256(r.body)), 'hex') as "bodySha256", r.headers, r.body,
     coalesce(r.received_at <= now() - s.body_seconds * interval '1 second', false) as "bodyExpired",
     r.sealed, r.data_key as "dataKey", r.data_key is not null and k.wrapped is null as "isForgotten"
   from generate_series(0, $1::integer - 1) n(shard)
   join ledger.receipt r on r.shard = n.shard and r.id between $2::uuid and $3::uuid
     and ($4::text is null or r.tenant = $4::text)
   left join ledger.source s on s.tenant = r.tenant and s.name = r.source
   left join ledger.data_key k on k.id = r.data_key
   limit 2`,
)

export interface ReceiptRow {
  readonly shard: number
  readonly id: string
  readonly receivedAt: Date
  readonly occurredAt: Date | null
  readonly tenant: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | null
  readonly secret: number
  /** A keyed hash, if the payload is encrypted. Null: the event was imported, without a body. */
  readonly bodySha256: string | null
  readonly headers: string | null
  readonly body: Buffer | null
  readonly bodyExpired: boolean
  /** Headers and body, if they are encrypted. */
  readonly sealed: Buffer | null
  readonly dataKey: number | null
  /** The key of the encrypted payload was dropped. */
  readonly isForgotten: boolean
}

/** Returns at most two: the second shows that the prefix is ambiguous. */
export async function findReceipts(
  db: Queryable,
  shards: number,
  idPrefix: string,
  tenant?: string,
): Promise<ReceiptRow[]> {
  const range = idRange(idPrefix)
  return range ? rows(db, FIND_RECEIPTS, [shards, ...range, tenant ?? null]) : []
}

const RECEIPT_JOBS = statement(
  'receipt_jobs',
  `select s.name as subscriber, j.state::text as state, j.attempt, j.crashes, j.fence, j.born_at as "bornAt",
     nullif(j.due_at, 'infinity') as "dueAt", j.started_at as "startedAt", j.finished_at as "finishedAt", j.worker, j.reason,
     ${JOB_OUTCOME('j')} as outcome,
     -- Only a job that runs has a worker.
     case when w.id is not null then jsonb_build_object('host', w.host, 'pid', w.pid,
       'isAlive', w.dead_at is null and w.lease_until > now()) end as holder
   from ledger.job j join ledger.subscriber s on s.id = j.subscriber
   left join ledger.worker w on w.id = j.worker
   where j.shard = $1::smallint and j.receipt_id = $2::uuid order by j.subscriber`,
)

export interface JobRow {
  readonly subscriber: string
  readonly state: string
  readonly attempt: number
  readonly crashes: number
  readonly fence: number
  readonly bornAt: Date
  /** Null: an earlier job with its order key is unfinished. */
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly worker: number | null
  readonly reason: string | null
  /** The state, or `stale` or `moved` for a processed job that changed nothing. */
  readonly outcome: string
  /** The worker that runs it. Null: it is not running. */
  readonly holder: JobHolder | null
}

export interface JobHolder {
  readonly host: string
  readonly pid: number
  /** False: its lease has ended or it stopped, and no worker has taken over the job yet. */
  readonly isAlive: boolean
}

/*
 * The run in progress and the successful one are in the job's row. So is a run that was handed
 * back, because its process stopped or it was deferred: it does not count, and the next run gets
 * its number. A moved job ended without a run.
 */
const RECEIPT_ATTEMPTS = statement(
  'receipt_attempts',
  `select s.name as subscriber, a.number, a.fence, a.started_at as "startedAt", a.ended_at as "endedAt", a.outcome,
     a.error, a.stack
   from ledger.attempt a join ledger.subscriber s on s.id = a.subscriber
   where a.shard = $1::smallint and a.receipt_id = $2::uuid
   union all
   select s.name, j.attempt, j.fence, j.started_at, j.finished_at,
     case when j.state = 'processed' and j.reason is not null then 'stale' else j.state::text end, null, null
   from ledger.job j join ledger.subscriber s on s.id = j.subscriber
   where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.state in ('processing', 'processed')
     and j.started_at is not null and coalesce(j.reason, '') not like 'MOVED to %'
   union all
   select s.name, j.attempt + 1, j.fence, j.started_at, null, 'returned', j.reason, null
   from ledger.job j join ledger.subscriber s on s.id = j.subscriber
   where j.shard = $1::smallint and j.receipt_id = $2::uuid and j.state in ${CLAIMABLE} and j.started_at is not null
     and not exists (
       select from ledger.attempt a
       where a.shard = j.shard and a.receipt_id = j.receipt_id and a.subscriber = j.subscriber
         and a.started_at >= j.started_at)
   order by 3, 1`,
)

export interface AttemptRow {
  readonly subscriber: string
  readonly number: number
  readonly fence: number
  readonly startedAt: Date
  /**
   * For a crashed run: when the crash was noticed. Null: it is running, or it was handed back,
   * which does not count as an attempt.
   */
  readonly endedAt: Date | null
  readonly outcome: string
  readonly error: string | null
  /** Lines of `at …` and `caused by …`. Null: there was no error, or no frame outside hookonce. */
  readonly stack: string | null
}

const RECEIPT_DUPLICATES = statement(
  'receipt_duplicates',
  `select count, mismatches, first_at as "firstAt", last_at as "lastAt"
   from ledger.duplicate where shard = $1::smallint and receipt_id = $2::uuid`,
)

export interface DuplicateRow {
  readonly count: number
  readonly mismatches: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** The jobs, attempts and effects of one receipt. */
export interface ReceiptHistory {
  readonly jobs: readonly JobRow[]
  readonly attempts: readonly AttemptRow[]
  readonly duplicates: DuplicateRow | undefined
  /** Effects whose last call was made by a job of this receipt. */
  readonly effects: readonly EffectStory[]
  readonly decisions: readonly AuditRow[]
}

export async function receiptHistory(
  db: Queryable,
  shards: number,
  { shard, id, tenant }: Pick<ReceiptRow, 'shard' | 'id' | 'tenant'>,
): Promise<ReceiptHistory> {
  const [jobs, attempts, duplicates, effects] = await Promise.all([
    rows<JobRow>(db, RECEIPT_JOBS, [shard, id]),
    rows<AttemptRow>(db, RECEIPT_ATTEMPTS, [shard, id]),
    rows<DuplicateRow>(db, RECEIPT_DUPLICATES, [shard, id]),
    effectsOfReceipt(db, shards, id),
  ])
  const decisions = await auditOf(db, tenant, [id, ...effects.map(({ key }) => key)])
  return { jobs, attempts, duplicates: duplicates[0], effects, decisions }
}
