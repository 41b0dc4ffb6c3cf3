import * as binary from './binary.ts'
import { change, type Queryable, rows, statement } from './statement.ts'

/*
 * The lease belongs to the worker, the fence to the job. One row a process says until when it is alive; jobs
 * name their worker. A heartbeat is then one small write, however many jobs are in flight, and finding the jobs
 * of the dead is one index probe a worker and shard. All times are the database's.
 */

const ENLIST = statement(
  'enlist_worker',
  `insert into hookonce.worker (lease_until, host, pid)
   values (now() + $1::integer * interval '1 millisecond', $2::text, $3::integer) returning id`,
)

export interface Enlistment {
  readonly leaseMs: number
  readonly host: string
  readonly pid: number
}

/** A fresh id at each start: a worker that was declared dead never comes back under its old one. */
export async function enlistWorker(db: Queryable, { leaseMs, host, pid }: Enlistment): Promise<number> {
  const [row] = await rows<{ id: number }>(db, ENLIST, [leaseMs, host, pid])
  if (!row) throw new Error('the ledger gave no id to this worker')
  return row.id
}

const HEARTBEAT = statement(
  'heartbeat',
  `update hookonce.worker set lease_until = now() + $2::integer * interval '1 millisecond'
   where id = $1::integer and dead_at is null`,
)

/** False: the worker was declared dead, and its jobs belong to others. */
export async function heartbeat(db: Queryable, worker: number, leaseMs: number): Promise<boolean> {
  return (await change(db, HEARTBEAT, [worker, leaseMs])) === 1
}

const RETIRE = statement(
  'retire_worker',
  `update hookonce.worker set dead_at = now() where id = $1::integer and dead_at is null`,
)

/** A clean stop. What it still held, if anything, is rescued at once instead of after the lease. */
export async function retireWorker(db: Queryable, worker: number): Promise<void> {
  await change(db, RETIRE, [worker])
}

const ANY_ALIVE = statement(
  'any_worker_alive',
  `select exists (select from hookonce.worker where dead_at is null and lease_until > now()) as alive`,
)

/** Whether some process, this or another one, works on the ledger now. */
export async function isAnyWorkerAlive(db: Queryable): Promise<boolean> {
  const [row] = await rows<{ alive: boolean }>(db, ANY_ALIVE, [])
  return row?.alive === true
}

/* Declares silent workers dead and lists all the dead. */
const BURY_SILENT = statement(
  'bury_silent_workers',
  `with silent as (
     update hookonce.worker set dead_at = now()
     where dead_at is null and lease_until < now() - $1::integer * interval '1 millisecond' returning id
   )
   select id from silent
   union all
   select id from hookonce.worker where dead_at is not null`,
)

export async function deadWorkers(db: Queryable, graceMs: number): Promise<number[]> {
  const dead = await rows<{ id: number }>(db, BURY_SILENT, [graceMs])
  return dead.map((row) => row.id)
}

/*
 * The rows of the dead stay for a day: a statement that was in flight when its worker died may still commit a
 * job leased to it, and none of ours waits for that long. They go only after a rescue that found nothing more.
 */
const FORGET = statement(
  'forget_workers',
  `delete from hookonce.worker where id = any($1::integer[]) and dead_at < now() - interval '1 day'`,
)

/** For the workers whose jobs were just rescued, all of them. */
export async function forgetWorkers(db: Queryable, rescued: readonly number[]): Promise<void> {
  await change(db, FORGET, [binary.integers(rescued)])
}
