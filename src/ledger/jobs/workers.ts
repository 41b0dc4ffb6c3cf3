import { DEFAULT_LEASE_MS } from '../../model/durations.ts'
import { DURABLE } from '../../sql/durable.ts'
import * as binary from '../driver/binary.ts'
import { ON_NODE, together } from '../driver/shapes.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * The lease belongs to the worker, the fence to the job. Each process has one row with the end of
 * its lease; jobs name their worker. A heartbeat is one small write, however many jobs are in
 * flight. Finding the jobs of a dead worker is one index probe per shard. All times are the
 * database's.
 */

/*
 * The row must survive a crash of the server. A failover can still lose it, and the next process
 * then gets the same id: only the start time, in microseconds, tells the two apart.
 */
const STARTED_AT = 'extract(epoch from started_at)'
const BEGIN_ENLISTING = statement('begin_enlisting', `select ${DURABLE} from ${ON_NODE}`)
const ENLIST = statement(
  'enlist_worker',
  `insert into ledger.worker (lease_until, host, pid, lease_ms, serves)
   values (now() + $1::integer * interval '1 millisecond', $2::text, $3::integer, $1::integer, $4::integer[])
   returning id, ${STARTED_AT}::text as "startedAt"`,
)

export interface Enlistment {
  readonly leaseMs: number
  readonly host: string
  readonly pid: number
  /** The subscribers whose jobs it runs. */
  readonly serves: readonly number[]
}

/** Identifies the row of one worker. */
export interface Enlisted {
  readonly id: number
  /** Seconds since 1970, as text with every digit. */
  readonly startedAt: string
}

/** Returns a new id at each start: a worker that was declared dead never reuses its old id. */
export function enlistWorker(db: Queryable, enlistment: Enlistment): Promise<Enlisted> {
  const { leaseMs, host, pid, serves } = enlistment
  return together(db, async (client) => {
    await change(client, BEGIN_ENLISTING)
    const [row] = await rows<Enlisted>(client, ENLIST, [leaseMs, host, pid, binary.integers(serves)])
    if (!row) throw new Error('the ledger gave no id to this worker')
    return row
  })
}

const IS_OWN = `id = $1::integer and ${STARTED_AT} = $2::numeric and dead_at is null`

const HEARTBEAT = statement(
  'heartbeat',
  `update ledger.worker set lease_until = now() + $3::integer * interval '1 millisecond' where ${IS_OWN}`,
)

/** False: the worker was declared dead, or its row was lost. Other workers may take its jobs. */
export async function heartbeat(db: Queryable, worker: Enlisted, leaseMs: number): Promise<boolean> {
  return (await change(db, HEARTBEAT, [worker.id, worker.startedAt, leaseMs])) === 1
}

const RETIRE = statement('retire_worker', `update ledger.worker set dead_at = now() where ${IS_OWN}`)

/**
 * A clean stop. Jobs that the worker still holds are rescued at once, not after the end of its
 * lease.
 */
export async function retireWorker(db: Queryable, worker: Enlisted): Promise<void> {
  await change(db, RETIRE, [worker.id, worker.startedAt])
}

/*
 * Declares workers dead that did not renew their lease, and lists all dead workers. The calling
 * process must have reached the ledger without a break for as long as that lease lasts. After an
 * outage of the ledger every lease has expired: without this rule, the first process back would
 * declare the others dead before they can renew theirs. A worker that retired did so within its
 * lease.
 */
const BURY_SILENT = statement(
  'bury_silent_workers',
  `with silent as (
     update ledger.worker set dead_at = now()
     where dead_at is null and lease_until < now() - $1::integer * interval '1 millisecond'
       and coalesce(lease_ms, ${DEFAULT_LEASE_MS}) <= $2::float8
     returning id
   )
   select id, true as "isCrash" from silent
   union all
   select id, dead_at > lease_until from ledger.worker where dead_at is not null`,
)

export interface DeadWorker {
  readonly id: number
  /** False: its process stopped cleanly. */
  readonly isCrash: boolean
}

export interface SilenceQuestion {
  /** Added to the lease, for a heartbeat that is in flight. */
  readonly graceMs: number
  /** How long the calling process has reached the ledger without a break. */
  readonly contactMs: number
}

export async function deadWorkers(db: Queryable, question: SilenceQuestion): Promise<DeadWorker[]> {
  return rows(db, BURY_SILENT, [question.graceMs, question.contactMs])
}

/*
 * The rows of dead workers are kept for a day: a statement that was in flight when its worker died
 * may still commit a job leased to that worker. No statement takes that long. A row is deleted only
 * after a rescue that found no more jobs.
 */
const FORGET = statement(
  'forget_workers',
  `with gone as (
     delete from ledger.worker where id = any($1::integer[]) and dead_at < now() - interval '1 day'
     returning serves, dead_at
   )
   update ledger.subscriber s set served_until = greatest(s.served_until, g.until)
   from (select unnest(serves) as id, max(dead_at) as until from gone group by 1) g
   where s.id = g.id`,
)

/** Pass only workers whose jobs have all been rescued. */
export async function forgetWorkers(db: Queryable, rescued: readonly number[]): Promise<void> {
  await change(db, FORGET, [binary.integers(rescued)])
}
