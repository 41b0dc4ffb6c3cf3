import { DEFAULT_LEASE_MS } from '../../model/durations.ts'
import * as binary from '../driver/binary.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * The lease belongs to the worker, the fence to the job. Each process has one row with the end of
 * its lease; jobs name their worker. A heartbeat is one small write, however many jobs are in
 * flight. Finding the jobs of a dead worker is one index probe per shard. All times are the
 * database's.
 */

const ENLIST = statement(
  'enlist_worker',
  `insert into ledger.worker (lease_until, host, pid, lease_ms, serves)
   values (now() + $1::integer * interval '1 millisecond', $2::text, $3::integer, $1::integer, $4::integer[]) returning id`,
)

export interface Enlistment {
  readonly leaseMs: number
  readonly host: string
  readonly pid: number
  /** The subscribers whose jobs it runs. */
  readonly serves: readonly number[]
}

/** Returns a new id at each start: a worker that was declared dead never reuses its old id. */
export async function enlistWorker(db: Queryable, enlistment: Enlistment): Promise<number> {
  const { leaseMs, host, pid, serves } = enlistment
  const [row] = await rows<{ id: number }>(db, ENLIST, [leaseMs, host, pid, binary.integers(serves)])
  if (!row) throw new Error('the ledger gave no id to this worker')
  return row.id
}

const HEARTBEAT = statement(
  'heartbeat',
  `update ledger.worker set lease_until = now() + $2::integer * interval '1 millisecond'
   where id = $1::integer and dead_at is null`,
)

/** False: the worker was declared dead, and other workers may take its jobs. */
export async function heartbeat(db: Queryable, worker: number, leaseMs: number): Promise<boolean> {
  return (await change(db, HEARTBEAT, [worker, leaseMs])) === 1
}

const RETIRE = statement(
  'retire_worker',
  `update ledger.worker set dead_at = now() where id = $1::integer and dead_at is null`,
)

/**
 * A clean stop. Jobs that the worker still holds are rescued at once, not after the end of its
 * lease.
 */
export async function retireWorker(db: Queryable, worker: number): Promise<void> {
  await change(db, RETIRE, [worker])
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
