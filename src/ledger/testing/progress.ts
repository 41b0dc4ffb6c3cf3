import type { JobState } from '../../model/job-state.ts'
import { type Queryable, rows, statement } from '../driver/statement.ts'
import { UNFINISHED } from '../jobs/states.ts'

/*
 * The state that a test waits for: the jobs and messages that are not at rest, and when the next is
 * due.
 */

/*
 * A paused subscriber holds its jobs, and an ordered job at `infinity` waits for the one before it.
 * Both are at rest if nothing else moves. An open circuit holds the jobs of its limiter until the
 * next probe.
 */
const PROGRESS = statement(
  'test_progress',
  `with open as (
     select j.state, greatest(j.due_at, case when l.state = 'open' then l.probe_at end) as due_at,
       (s.paused_at is not null or o.paused_at is not null) as paused
     from ledger.job j
     join ledger.subscriber s on s.id = j.subscriber
     left join ledger.source o on o.tenant = s.tenant and o.name = s.source
     left join ledger.limiter l on l.id = s.limiter
     where j.state in ${UNFINISHED} and j.state <> 'attention'
   ), work as (
     select state = 'processing' as running, due_at from open where state = 'processing' or not paused
     union all
     select worker is not null, due_at from ledger.outbox_lane
   )
   select (count(*) filter (where running))::integer as running,
     (count(*) filter (where not running and due_at <= now()))::integer as due,
     (count(*) filter (where not running and due_at > now() and due_at < 'infinity'))::integer as later,
     (extract(epoch from min(due_at) filter (where not running and due_at > now() and due_at < 'infinity')
       - now()) * 1000)::float8 as "nextMs"
   from work`,
)

export interface Progress {
  readonly running: number
  readonly due: number
  readonly later: number
  /** The time until the next scheduled job is due. */
  readonly nextMs: number | null
}

export async function readProgress(db: Queryable): Promise<Progress> {
  const [row] = await rows<Progress & Record<string, unknown>>(db, PROGRESS)
  if (!row) throw new Error('the progress query returned no row')
  return row
}

/** A parameter that is null matches every job. */
const JOBS = statement(
  'test_jobs',
  `select r.id as "receiptId", r.source, r.event_key as "eventKey", r.event_type as "eventType",
     s.name as subscriber, j.state::text as state, j.attempt, j.reason,
     (extract(epoch from j.due_at - now()) * 1000)::float8 as "dueInMs"
   from ledger.job j
   join ledger.receipt r on r.shard = j.shard and r.id = j.receipt_id
   join ledger.subscriber s on s.id = j.subscriber
   where ($1::text is null or r.source = $1) and ($2::text is null or r.event_type = $2)
     and ($3::text is null or r.event_key = $3) and ($4::text is null or s.name = $4)
     and ($5::uuid is null or r.id = $5)
   order by r.received_at, r.id, s.name`,
)

/** Selects jobs. Every given value must match. */
export interface JobsOf {
  readonly source?: string
  readonly type?: string
  readonly key?: string
  readonly subscriber?: string
  readonly receiptId?: string
}

/** One job as a test sees it. */
export interface JobView {
  readonly receiptId: string
  readonly source: string
  readonly eventKey: string
  readonly eventType: string
  readonly subscriber: string
  readonly state: JobState
  readonly attempt: number
  readonly reason: string | null
}

export async function readJobs(
  db: Queryable,
  { source, type, key, subscriber, receiptId }: JobsOf = {},
): Promise<(JobView & { readonly dueInMs: number })[]> {
  return rows(db, JOBS, [source, type, key, subscriber, receiptId])
}

const EFFECTS = statement(
  'test_effects',
  `select key, state::text as state, mode, epoch, downstream_key as "idempotencyKey", result, reason,
     receipt_id as "receiptId"
   from ledger.effect where key = $1::text order by tenant, epoch`,
)

/** The ledger's record of an effect. A replay with `fresh` adds one with the next epoch. */
export interface EffectRow {
  readonly key: string
  readonly state: string
  readonly mode: string
  readonly epoch: number
  readonly idempotencyKey: string
  readonly result: unknown
  readonly reason: string | null
  readonly receiptId: string
}

export async function readEffects(db: Queryable, key: string): Promise<EffectRow[]> {
  return rows(db, EFFECTS, [key])
}
