import type { JobState } from '../model/job-state.ts'
import * as binary from './binary.ts'
import { change, type Queryable, rows, statement } from './statement.ts'

/** What names one run of a job. Every write about the run carries it; with a stale fence it changes nothing. */
export interface JobRef {
  readonly shard: number
  readonly receiptId: string
  readonly subscriber: number
  readonly fence: number
}

/** A leased job with the receipt that it is about. */
export interface ClaimedJob extends JobRef {
  readonly attempt: number
  readonly crashes: number
  /** The step whose commit completed an earlier run of this job. */
  readonly lastStep: string | null
  /** Raised by a replay that asks for everything to happen anew. */
  readonly epoch: number
  /** Milliseconds since the job was born. */
  readonly ageMs: number
  readonly eventKey: string
  readonly eventType: string
  readonly objectId: string | null
  readonly occurredAtMs: number | null
  readonly receivedAtMs: number
  readonly headers: string | null
  /** As `encode(…, 'escape')` writes bytes; see escaped-bytes.ts. */
  readonly body: string | null
}

/*
 * Which shards have due work, and for whom. It locks nothing, so it may look at all shards at once; the claim
 * that follows names one. LATERAL with LIMIT makes each pair one index probe, whatever the backlog.
 */
const DUE = statement(
  'due',
  `select s.shard, array_agg(u.id) as subscribers
   from generate_series(0, $1::integer - 1) s(shard)
   cross join (
     select sub.id from hookonce.subscriber sub
     join hookonce.source o on o.tenant = sub.tenant and o.name = sub.source
     where sub.id = any($2::integer[]) and sub.paused_at is null and o.paused_at is null
   ) u
   cross join lateral (
     select from hookonce.job j
     where j.shard = s.shard and j.subscriber = u.id and j.state in ('received', 'retrying') and j.due_at <= now()
       and (j.crashes = 0 or $3::boolean)
     limit 1
   ) due
   group by s.shard`,
)

export interface DueShard {
  readonly shard: number
  readonly subscribers: readonly number[]
}

export interface DueQuestion {
  readonly shards: number
  readonly subscribers: readonly number[]
  /** Whether jobs whose worker crashed before count as well. */
  readonly suspects: boolean
}

export async function dueShards(db: Queryable, question: DueQuestion): Promise<DueShard[]> {
  return rows(db, DUE, [question.shards, binary.integers(question.subscribers), question.suspects])
}

/*
 * Claim in one shard, up to so many jobs for each subscriber.
 * - MATERIALIZED: the planner may otherwise run the LIMIT again and lease more than asked.
 * - A pause is looked at here too: what was found due may have been paused since.
 * - The partial index holds due work only, so the cost depends neither on history nor on what is in flight.
 * - A claim does not wait for the disk. Lost in a crash of the server, it was never made: the job is due again, and of
 *   two runs with one fence only one finds its job processing. Whatever a run commits reaches the disk after its claim.
 */
const CLAIM = statement(
  'claim',
  `with hurried as materialized (
     select set_config('synchronous_commit', 'off', true)
   ), picked as materialized (
     select j.receipt_id, j.subscriber
     from hurried
     cross join unnest($2::integer[], $3::integer[]) want(subscriber, slots)
     join hookonce.subscriber s on s.id = want.subscriber and s.paused_at is null
     join hookonce.source o on o.tenant = s.tenant and o.name = s.source and o.paused_at is null
     cross join lateral (
       select d.receipt_id, d.subscriber from hookonce.job d
       where d.shard = $1::smallint and d.subscriber = want.subscriber and d.state in ('received', 'retrying')
         and d.due_at <= now() and (d.crashes = 0 or $5::boolean)
       order by d.due_at limit want.slots
       for update skip locked
     ) j
   ), leased as (
     update hookonce.job j
     set state = 'processing', worker = $4::integer, fence = j.fence + 1, attempt = j.attempt + 1, started_at = now()
     from picked p
     where j.shard = $1::smallint and j.receipt_id = p.receipt_id and j.subscriber = p.subscriber
     returning j.receipt_id, j.subscriber, j.fence, j.attempt, j.crashes, j.born_at, j.last_step, j.epoch
   )
   select l.receipt_id as "receiptId", l.subscriber, l.fence, l.attempt, l.crashes, l.last_step as "lastStep", l.epoch,
     (extract(epoch from now() - l.born_at) * 1000)::float8 as "ageMs",
     r.event_key as "eventKey", r.event_type as "eventType", r.object_id as "objectId",
     (extract(epoch from r.occurred_at) * 1000)::float8 as "occurredAtMs",
     (extract(epoch from r.received_at) * 1000)::float8 as "receivedAtMs",
     r.headers, encode(r.body, 'escape') as body
   from leased l
   join hookonce.receipt r on r.shard = $1::smallint and r.id = l.receipt_id`,
)

export interface Claim {
  readonly shard: number
  readonly worker: number
  /** How many jobs each subscriber has room for. */
  readonly slots: ReadonlyMap<number, number>
  readonly suspects: boolean
}

export async function claimJobs(db: Queryable, claim: Claim): Promise<ClaimedJob[]> {
  const claimed = await rows<Omit<ClaimedJob, 'shard'>>(db, CLAIM, [
    claim.shard,
    binary.integers([...claim.slots.keys()]),
    binary.integers([...claim.slots.values()]),
    claim.worker,
    claim.suspects,
  ])
  return claimed.map((job) => Object.assign(job, { shard: claim.shard }))
}

/** How one run ended. */
export interface Settlement extends JobRef {
  readonly state: Extract<JobState, 'processed' | 'retrying' | 'failed' | 'received'>
  /** Until the next run, for `retrying`. */
  readonly delayMs: number
  /** The run does not count: the job was handed back unharmed. */
  readonly returnAttempt: boolean
  readonly reason: string | undefined
}

/*
 * Settle a batch of runs. Returns those that had lost their lease, by place: nothing was changed for them.
 * - Rows are locked in key order, in which the batch comes, so that two settling workers and a rescuer cannot
 *   deadlock.
 * - LATERAL with LIMIT makes each row one probe of the primary key. State and fence are looked at outside of it:
 *   inside, the planner may prefer the index of leased jobs, of which it knows none, and read all of them for each.
 */
const LOCKED = `cross join lateral (
       select * from hookonce.job k
       where k.shard = e.shard and k.receipt_id = e.receipt_id and k.subscriber = e.subscriber
       limit 1
       for update
     ) j
     where j.fence = e.fence and j.state = 'processing'`

const LOST = `select n::integer as place from generate_series(1, cardinality($2)) n
   where not exists (select from ended where place = n)`

/** A batch in which all ended well and there is nothing to say, as nearly always. */
const COMPLETE = statement(
  'complete',
  `with ended as materialized (
     select e.place, j.shard, j.receipt_id, j.subscriber
     from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[]) with ordinality
       e(shard, receipt_id, subscriber, fence, place)
     ${LOCKED}
   ), completed as (
     update hookonce.job j
     set state = 'processed', worker = null, finished_at = now(), reason = null
     from ended e
     where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
   )
   ${LOST}`,
)

/** Runs with any outcomes. Those that did not end well are told in attempt. */
const SETTLE = statement(
  'settle',
  `with ended as materialized (
     select e.place, j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at,
       e.state, e.delay_ms, e.return_attempt, e.reason
     from unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::integer[], $7::boolean[],
       $8::text[]) with ordinality
       e(shard, receipt_id, subscriber, fence, state, delay_ms, return_attempt, reason, place)
     ${LOCKED}
   ), told as (
     insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
     select shard, receipt_id, subscriber, fence, attempt, started_at, state, reason
     from ended where state <> 'processed' and not return_attempt
   ), settled as (
     update hookonce.job j
     set state = e.state::hookonce.job_state,
       worker = null,
       attempt = j.attempt - e.return_attempt::integer,
       due_at = now() + e.delay_ms * interval '1 millisecond',
       finished_at = case when e.state in ('processed', 'failed') then now() end,
       reason = e.reason
     from ended e
     where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
   )
   ${LOST}`,
)

/** Tells for each settlement, in order, whether it took effect: false means that the lease was lost before. */
export async function settleJobs(db: Queryable, settlements: readonly Settlement[]): Promise<boolean[]> {
  const batch = settlements.toSorted(byKey)
  const lostRows = batch.every(({ state, reason }) => state === 'processed' && reason === undefined)
    ? await rows<Lost>(db, COMPLETE, namesOf(batch))
    : await rows<Lost>(db, SETTLE, [...namesOf(batch), ...outcomesOf(batch)])
  if (lostRows.length === 0) return settlements.map(() => true)
  const lost = new Set(lostRows.map(({ place }) => batch[place - 1]))
  return settlements.map((settlement) => !lost.has(settlement))
}

interface Lost {
  readonly place: number
}

function namesOf(batch: readonly JobRef[]): Buffer[] {
  return [
    binary.smallints(batch.map((job) => job.shard)),
    binary.uuids(batch.map((job) => job.receiptId)),
    binary.integers(batch.map((job) => job.subscriber)),
    binary.integers(batch.map((job) => job.fence)),
  ]
}

function outcomesOf(batch: readonly Settlement[]): Buffer[] {
  return [
    binary.texts(batch.map((s) => s.state)),
    binary.integers(batch.map((s) => Math.round(s.delayMs))),
    binary.booleans(batch.map((s) => s.returnAttempt)),
    binary.texts(batch.map((s) => s.reason)),
  ]
}

/** The order in which every statement locks jobs. */
export function byKey(a: JobRef, b: JobRef): number {
  if (a.shard !== b.shard) return a.shard - b.shard
  if (a.receiptId !== b.receiptId) return a.receiptId < b.receiptId ? -1 : 1
  return a.subscriber - b.subscriber
}

/** Jobs leased to a worker for longer than `olderThanMs`: the worker knows which of them it really runs. */
const LEASED_TO = statement(
  'leased_to',
  `select j.shard, j.receipt_id as "receiptId", j.subscriber, j.fence
   from generate_series(0, $1::integer - 1) s(shard)
   join hookonce.job j on j.shard = s.shard and j.worker = $2::integer and j.state = 'processing'
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
 * Rescue the jobs of dead workers in one shard. Decides and writes in one statement: a rescuer that decided on
 * an older snapshot would overwrite completed work. It raises the fence, so that a worker that was only frozen
 * finds its writes refused. The wait doubles with each crash; a job that was in flight in `poisonCrashes`
 * crashes is buried.
 */
const RESCUE = statement(
  'rescue',
  `with orphan as materialized (
     select j.receipt_id, j.subscriber from hookonce.job j
     where j.shard = $1::smallint and j.state = 'processing' and j.worker = any($2::integer[])
     order by j.receipt_id, j.subscriber limit $3::integer
     for update skip locked
   ), rescued as (
     update hookonce.job j
     set state = (case when j.crashes + 1 >= $4::integer then 'failed' else 'retrying' end)::hookonce.job_state,
       fence = j.fence + 1, crashes = j.crashes + 1, worker = null,
       due_at = now() + least(60, 2 ^ j.crashes) * interval '1 second',
       finished_at = case when j.crashes + 1 >= $4::integer then now() end,
       reason = case when j.crashes + 1 >= $4::integer
         then 'POISON: its worker died ' || (j.crashes + 1) || ' times while running it'
         else 'its worker died while running it' end
     from orphan o
     where j.shard = $1::smallint and j.receipt_id = o.receipt_id and j.subscriber = o.subscriber
     returning j.receipt_id, j.subscriber, j.fence, j.attempt, j.crashes, j.started_at, j.state, j.reason
   ), told as (
     insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
     select $1::smallint, receipt_id, subscriber, fence - 1, attempt, started_at, 'crashed', reason from rescued
   )
   select receipt_id as "receiptId", subscriber, state = 'failed' as buried from rescued`,
)

export interface Rescue {
  readonly shard: number
  readonly deadWorkers: readonly number[]
  readonly limit: number
  readonly poisonCrashes: number
}

export interface Rescued {
  readonly receiptId: string
  readonly subscriber: number
  readonly buried: boolean
}

export async function rescueJobs(db: Queryable, rescue: Rescue): Promise<Rescued[]> {
  return rows(db, RESCUE, [
    rescue.shard,
    binary.integers(rescue.deadWorkers),
    rescue.limit,
    rescue.poisonCrashes,
  ])
}

/*
 * Replay: a finished job is received again, with its counters at zero and its fence as it was. The run that
 * ended well is told in attempt before its row is reused.
 */
const REPLAY = statement(
  'replay',
  `with finished as materialized (
     select j.receipt_id, j.subscriber from hookonce.job j
     where j.shard = $1::smallint and j.receipt_id = any($2::uuid[]) and j.state = any($4::hookonce.job_state[])
       and ($3::integer[] is null or j.subscriber = any($3::integer[]))
     order by j.receipt_id, j.subscriber
     for update
   ), told as (
     insert into hookonce.attempt (shard, receipt_id, subscriber, fence, number, started_at, ended_at, outcome)
     select j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, j.finished_at, 'processed'
     from hookonce.job j join finished f using (receipt_id, subscriber)
     where j.shard = $1::smallint and j.state = 'processed'
   )
   update hookonce.job j
   set state = 'received', attempt = 0, crashes = 0, born_at = now(), due_at = now(), finished_at = null, reason = null,
     epoch = j.epoch + $5::integer, last_step = case when $5::integer = 0 then j.last_step end
   from finished f
   where j.shard = $1::smallint and j.receipt_id = f.receipt_id and j.subscriber = f.subscriber`,
)

export interface Replay {
  readonly shard: number
  readonly receiptIds: readonly string[]
  readonly subscribers: readonly number[] | undefined
  /** Which finished jobs are meant: what was planned may have been mended by somebody else since. */
  readonly states: readonly Extract<JobState, 'processed' | 'failed'>[]
  /** Begin a new epoch: what earlier runs did does not count. */
  readonly fresh?: boolean
}

/** Returns how many jobs were received again. */
export async function replayJobs(db: Queryable, replay: Replay): Promise<number> {
  return change(db, REPLAY, [
    replay.shard,
    binary.uuids(replay.receiptIds),
    replay.subscribers ? binary.integers(replay.subscribers) : null,
    replay.states,
    replay.fresh ? 1 : 0,
  ])
}

/* A subscriber that came after the receipt has no job on it yet. */
const ADD_MISSING = statement(
  'add_missing_jobs',
  `insert into hookonce.job (shard, receipt_id, subscriber, state)
   select $1::smallint, $2::uuid, unnest($3::integer[]), 'received'
   on conflict (shard, receipt_id, subscriber) do nothing`,
)

export async function addMissingJobs(
  db: Queryable,
  replay: { shard: number; receiptId: string; subscribers: readonly number[] },
): Promise<number> {
  return change(db, ADD_MISSING, [replay.shard, replay.receiptId, binary.integers(replay.subscribers)])
}

/*
 * Failed jobs that can be replayed, oldest first. Bodies go before keys do, so the oldest failures have lost
 * theirs: they are passed over before the limit counts.
 */
const FAILED = statement(
  'failed_jobs',
  `select j.receipt_id as "receiptId", j.subscriber, s.source, s.name, j.reason
   from hookonce.subscriber s
   join hookonce.source o on o.tenant = s.tenant and o.name = s.source
   cross join lateral (
     select j.receipt_id, j.subscriber, j.reason, j.finished_at
     from hookonce.job j
     join hookonce.receipt r on r.shard = $1::smallint and r.id = j.receipt_id and r.body is not null
       and r.received_at > now() - o.body_seconds * interval '1 second'
     where j.shard = $1::smallint and j.subscriber = s.id and j.state in ('failed', 'attention') and j.state = 'failed'
       and j.finished_at >= now() - $4::float8 * interval '1 millisecond'
     order by j.finished_at limit $5::integer
   ) j
   where ($2::text is null or s.source = $2::text) and ($3::text is null or s.name = $3::text)
   order by j.finished_at limit $5::integer`,
)

export interface FailedQuestion {
  readonly shard: number
  readonly source?: string | undefined
  readonly subscriber?: string | undefined
  readonly sinceMs: number
  readonly limit: number
}

export interface FailedJob {
  readonly receiptId: string
  readonly subscriber: number
  readonly source: string
  readonly name: string
  readonly reason: string | null
}

export async function failedJobs(db: Queryable, question: FailedQuestion): Promise<FailedJob[]> {
  return rows(db, FAILED, [
    question.shard,
    question.source ?? null,
    question.subscriber ?? null,
    question.sinceMs,
    question.limit,
  ])
}
