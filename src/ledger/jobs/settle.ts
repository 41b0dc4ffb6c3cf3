import type { JobState } from '../../model/job-state.ts'
import { WITH_DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { isDistributed, ON_NODE, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'
import type { EffectId } from '../effects/effects.ts'
import { HAS_ITS_STEPS } from '../effects/steps.ts'
import { byKey, type JobRef } from './job-ref.ts'
import { FINISHED } from './states.ts'

/*
 * The statements by which a worker ends a run are here, in complete.ts, and in order.ts
 * (`join_order_key`, for a job that gets its order key when it runs). process/settle/settle-run.ts
 * chooses among them. rescue.ts ends the runs of dead workers.
 */

/** How one run ended. */
export interface Settlement extends JobRef {
  readonly state: Extract<JobState, 'processed' | 'retrying' | 'failed' | 'received'>
  /** The delay before the next run, for `retrying`. */
  readonly delayMs: number
  /** The attempt does not count: the job was handed back, or deferred. */
  readonly returnAttempt: boolean
  readonly reason: string | undefined
  /** How many steps the run has seen. A job that is `processed` must still have them. */
  readonly steps: number
  /** Where the error was thrown, for the row of the attempt. */
  readonly stack?: string | undefined
}

/*
 * Settles a batch of runs. Returns the places of runs that had lost their lease: nothing was
 * changed for them.
 * - The commit waits for the disk: a job that ended must not run again after a crash of the server.
 * - Rows are locked in key order, the order of the batch, so that two settling workers and a
 *   rescuer cannot deadlock.
 * - LATERAL with LIMIT makes each row one probe of the primary key. State and fence are checked
 *   outside of it: inside, the planner may choose the index of leased jobs, which it believes to be
 *   empty, and read all of it for each row.
 */
const LOCKED = `cross join lateral (
       select * from ledger.job k
       where k.shard = e.shard and k.receipt_id = e.receipt_id and k.subscriber = e.subscriber
       limit 1
       for update
     ) j
     where j.fence = e.fence and j.state = 'processing'`

const LOST = `select n::integer as place from generate_series(1, cardinality($2)) n
   where not exists (select from ended where place = n)`

/** For a batch in which all runs succeeded without a reason to record, as in nearly all batches. */
const COMPLETE = statement(
  'complete',
  `with ${WITH_DURABLE}, ended as materialized (
     select e.place, j.shard, j.receipt_id, j.subscriber
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[]) with ordinality
       e(shard, receipt_id, subscriber, fence, place)
     ${LOCKED}
   ), completed as (
     update ledger.job j
     set state = 'processed', worker = null, finished_at = now(), reason = null
     from ended e
     where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
   )
   ${LOST}`,
)

/**
 * For runs that succeeded and have seen steps. A job that has lost one of them is not completed.
 */
const COMPLETE_WITH_STEPS = statement(
  'complete_with_steps',
  `with ${WITH_DURABLE}, ended as materialized (
     select e.place, j.shard, j.receipt_id, j.subscriber, e.reason
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::integer[], $6::text[])
       with ordinality e(shard, receipt_id, subscriber, fence, steps, reason, place)
     ${LOCKED} and ${HAS_ITS_STEPS}
   ), completed as (
     update ledger.job j
     set state = 'processed', worker = null, finished_at = now(), reason = e.reason
     from ended e
     where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
   )
   ${LOST}`,
)

/*
 * For any outcomes. Runs that did not succeed are recorded in ledger.attempt. Times are computed
 * before the update, because Citus refuses them in an UPDATE.
 */
const settleOf = (told: string, result: string): string => `with ${WITH_DURABLE}, ended as materialized (
     select e.place, j.shard, j.receipt_id, j.subscriber, j.fence, j.attempt, j.started_at, e.state as outcome,
       e.state::ledger.job_state as state, e.delay_ms, e.return_attempt, e.reason, e.stack,
       now() + e.delay_ms * interval '1 millisecond' as due_at,
       case when e.state in ${FINISHED} then now() end as finished_at
     from durable
     cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::text[], $6::integer[], $7::boolean[],
       $8::text[], $9::text[]) with ordinality
       e(shard, receipt_id, subscriber, fence, state, delay_ms, return_attempt, reason, stack, place)
     ${LOCKED}
   ), ${told}settled as (
     update ledger.job j
     set state = e.state,
       worker = null,
       attempt = j.attempt - e.return_attempt::integer,
       -- A run that ended did not crash its process. A returned run may not have started.
       crashes = case when e.return_attempt and e.delay_ms = 0 then j.crashes else 0 end,
       due_at = e.due_at,
       finished_at = e.finished_at,
       reason = e.reason
     from ended e
     where j.shard = e.shard and j.receipt_id = e.receipt_id and j.subscriber = e.subscriber
   )
   ${result}`

const IS_TOLD = `outcome <> 'processed' and not return_attempt`

const SETTLE = statement(
  'settle',
  settleOf(
    `told as (
     insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error, stack)
     select shard, receipt_id, subscriber, fence, attempt, started_at, outcome, reason, stack
     from ended where ${IS_TOLD}
   ), `,
    LOST,
  ),
  { only: 'plain' },
)

/* Returns the runs to record as well: see driver/shapes.ts. */
const SETTLE_ONLY = statement(
  'settle_only',
  settleOf(
    '',
    `select n::integer as place, e.attempt, e.started_at::text as "startedAt", now()::text as now
   from generate_series(1, cardinality($2)) n
   left join ended e on e.place = n
   where e.place is null or ${IS_TOLD}`,
  ),
)

const TELL = statement(
  'tell_attempts',
  `insert into ledger.attempt
     (shard, receipt_id, subscriber, fence, number, started_at, outcome, error, stack, ended_at)
   select i.*, $10::timestamptz
   from ${ON_NODE}
   cross join unnest($1::smallint[], $2::uuid[], $3::integer[], $4::integer[], $5::integer[], $6::timestamptz[],
     $7::text[], $8::text[], $9::text[]) i`,
)

/** A lost run, or the attempt of one that was settled. */
interface SettledPlace extends Lost {
  readonly attempt: number | null
  readonly startedAt: string
  readonly now: string
}

function settleDistributed(db: Queryable, batch: readonly Settlement[]): Promise<Lost[]> {
  return together(db, async (client) => {
    const places = await rows<SettledPlace>(client, SETTLE_ONLY, [...namesOf(batch), ...outcomesOf(batch)])
    const told = places.filter(({ attempt }) => attempt !== null)
    if (told.length > 0) await tell(client, placesIn(batch, told), told)
    return places.filter(({ attempt }) => attempt === null)
  })
}

async function tell(
  client: Queryable,
  runs: readonly Settlement[],
  places: readonly SettledPlace[],
): Promise<void> {
  await change(client, TELL, [
    ...namesOf(runs),
    places.map(({ attempt }) => attempt),
    places.map(({ startedAt }) => startedAt),
    binary.texts(runs.map(({ state }) => state)),
    binary.texts(runs.map(({ reason }) => reason)),
    binary.texts(runs.map(({ stack }) => stack)),
    places[0]?.now,
  ])
}

/**
 * Returns for each settlement, in order, whether it was applied. False: its lease was lost, or a
 * step that its run has seen.
 */
export async function settleJobs(db: Queryable, settlements: readonly Settlement[]): Promise<boolean[]> {
  const batch = settlements.toSorted(byKey)
  const withSteps = batch.filter(hasSteps)
  const lost = new Set([
    ...(await settleOthers(db, withSteps.length === 0 ? batch : batch.filter((one) => !hasSteps(one)))),
    ...(await completeWithSteps(db, withSteps)),
  ])
  return settlements.map((settlement) => !lost.has(settlement))
}

function hasSteps({ state, steps }: Settlement): boolean {
  return state === 'processed' && steps > 0
}

/** Both return the settlements that were not applied. */
async function settleOthers(db: Queryable, batch: readonly Settlement[]): Promise<Settlement[]> {
  if (batch.length === 0) return []
  const lost = batch.every(({ state, reason }) => state === 'processed' && reason === undefined)
    ? await rows<Lost>(db, COMPLETE, namesOf(batch))
    : await settleAny(db, batch)
  return placesIn(batch, lost)
}

function settleAny(db: Queryable, batch: readonly Settlement[]): Promise<Lost[]> {
  if (isDistributed(db)) return settleDistributed(db, batch)
  return rows<Lost>(db, SETTLE, [...namesOf(batch), ...outcomesOf(batch)])
}

async function completeWithSteps(db: Queryable, batch: readonly Settlement[]): Promise<Settlement[]> {
  if (batch.length === 0) return []
  const lost = await rows<Lost>(db, COMPLETE_WITH_STEPS, [
    ...namesOf(batch),
    binary.integers(batch.map(({ steps }) => steps)),
    binary.texts(batch.map(({ reason }) => reason)),
  ])
  return placesIn(batch, lost)
}

function placesIn(batch: readonly Settlement[], lost: readonly Lost[]): Settlement[] {
  return lost.flatMap(({ place }) => batch[place - 1] ?? [])
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
    binary.texts(batch.map((s) => s.stack)),
  ]
}

/*
 * A job stops for attention in the commit that finds its effect unknown. It continues in the commit
 * that decides on the effect (attention.ts). Both lock the effect first, so that a job cannot stop
 * for an effect that has just been decided, and wait forever.
 */
const STOPPED = `with stopped as (
     update ledger.job
     set state = 'attention', worker = null, finished_at = now(), reason = $5
     where shard = $1::smallint and receipt_id = $2::uuid and subscriber = $3::integer and fence = $4::integer
       and state = 'processing'
     returning attempt, started_at
   )`

const STOP = statement(
  'stop_for_attention',
  `${STOPPED}, told as (
     insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
     select $1::smallint, $2::uuid, $3::integer, $4::integer, attempt, started_at, 'attention', $5 from stopped
   )
   insert into ledger.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
   select $1::smallint, $2::uuid, $3::integer, $6::smallint, $7::uuid from stopped`,
  { only: 'plain' },
)

const STOP_ONLY = statement(
  'stop_only',
  `${STOPPED}
   select attempt, started_at::text as "startedAt" from stopped`,
)

const TELL_STOPPED = statement(
  'tell_stopped',
  `insert into ledger.attempt (shard, receipt_id, subscriber, fence, number, started_at, outcome, error)
   values ($1::smallint, $2::uuid, $3::integer, $4::integer, $5::integer, $6::timestamptz, 'attention', $7)`,
)

const WAIT_FOR = statement(
  'wait_for_effect',
  `insert into ledger.attention (shard, receipt_id, subscriber, effect_shard, effect_id)
   values ($1::smallint, $2::uuid, $3::integer, $4::smallint, $5::uuid)`,
)

interface Stop {
  readonly job: JobRef
  readonly effect: EffectId
  readonly reason: string
}

function stopDistributed(db: Queryable, { job, effect, reason }: Stop): Promise<boolean> {
  const key = [job.shard, job.receiptId, job.subscriber]
  return together(db, async (client) => {
    const run = [...key, job.fence]
    const [stopped] = await rows<{ attempt: number; startedAt: string }>(client, STOP_ONLY, [...run, reason])
    if (!stopped) return false
    await change(client, TELL_STOPPED, [...run, stopped.attempt, stopped.startedAt, reason])
    return (await change(client, WAIT_FOR, [...key, effect.shard, effect.id])) === 1
  })
}

/** False: the lease had been lost. */
export async function stopForAttention(db: Queryable, stop: Stop): Promise<boolean> {
  if (isDistributed(db)) return stopDistributed(db, stop)
  const { job, effect, reason } = stop
  const run = [job.shard, job.receiptId, job.subscriber, job.fence]
  return (await change(db, STOP, [...run, reason, effect.shard, effect.id])) === 1
}
