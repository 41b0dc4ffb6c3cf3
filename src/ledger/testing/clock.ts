import type { Pool } from 'pg'
import { inTransaction } from '../driver/in-transaction.ts'
import { change, type Queryable, rows, statement } from '../driver/statement.ts'

/*
 * A clock that tests can move. PostgreSQL finds `now()` along the search path. A test database has
 * the schema `hookonce_clock` before `pg_catalog` in its path, so every statement, column default
 * and trigger gets the moved time, including those of the user. `current_timestamp` is no function
 * and keeps the real time.
 */

export const CLOCK_SCHEMA = 'hookonce_clock'

const MOVED = ['now', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp']
const FUNCTIONS = MOVED.map((name) => {
  const volatility = name === 'clock_timestamp' ? 'volatile' : 'stable'
  return `create function ${CLOCK_SCHEMA}.${name}() returns timestamptz language sql ${volatility} parallel safe
    as 'select pg_catalog.${name}() + (select by from ${CLOCK_SCHEMA}.shift)';`
})

/** Runs once in a new database, before any other object is created there. */
export const INSTALL_CLOCK = `
  create schema ${CLOCK_SCHEMA};
  grant usage on schema ${CLOCK_SCHEMA} to public;
  create table ${CLOCK_SCHEMA}.shift (by interval not null);
  grant select on ${CLOCK_SCHEMA}.shift to public;
  insert into ${CLOCK_SCHEMA}.shift values ('0');
  ${FUNCTIONS.join('\n  ')}`

/**
 * Adds the clock to a search path. Tables that a user creates must not land in its schema, so it
 * comes last. `"$user"` is omitted if it means the ledger's own schema.
 */
export function pathWithClock(path: string, ledgerIsUser: boolean): string {
  const names = path.split(',').map((name) => name.trim())
  const own = names.filter((name) => name !== '' && name !== 'pg_catalog' && name !== CLOCK_SCHEMA)
  const kept = own.filter((name) => !ledgerIsUser || name !== '"$user"')
  return [...(kept.length > 0 ? kept : ['public']), CLOCK_SCHEMA, 'pg_catalog'].join(', ')
}

/* Not statements of a ledger: only test databases have this schema. */
const SHIFT = `update ${CLOCK_SCHEMA}.shift set by = by + $1::float8 * interval '1 millisecond'`
const READ = `select (extract(epoch from now()) * 1000)::float8 as "nowMs", now() = ${CLOCK_SCHEMA}.now() as "isInstalled"`

/*
 * Leases of living workers and of probes move with the clock: time travel alone must not end them,
 * because the processes that hold them were not asleep.
 */
const KEEP_LEASES = statement(
  'test_keep_leases',
  `with kept as (
     update ledger.worker set lease_until = lease_until + $1::float8 * interval '1 millisecond'
     where dead_at is null
   )
   update ledger.limiter set probe_until = probe_until + $1::float8 * interval '1 millisecond'
   where probe_until is not null`,
)

export async function moveClock(pool: Pool, ms: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(SHIFT, [ms])
    await change(client, KEEP_LEASES, [ms])
    await client.query('commit')
  })
}

export interface TestTime {
  readonly nowMs: number
  /** False: a search path of the connection hides the clock. */
  readonly isInstalled: boolean
}

export async function readClock(pool: Pool): Promise<TestTime> {
  const [row] = (await pool.query<TestTime>(READ)).rows
  if (!row) throw new Error('the test clock returned no time')
  return row
}

const LOSE_LEASE = statement(
  'test_lose_leases',
  `update ledger.worker
   set lease_until = now() - interval '1 millisecond', dead_at = now()
   where id = any($1::integer[]) and dead_at is null`,
)

/** Writes the same as a rescue after a lease has ended: other workers may take the jobs over. */
export async function endLeases(db: Queryable, workers: readonly number[]): Promise<number> {
  return change(db, LOSE_LEASE, [workers])
}

const LIVING = statement('test_living_workers', 'select id from ledger.worker where dead_at is null')

export async function livingWorkers(db: Queryable): Promise<number[]> {
  return (await rows<{ id: number }>(db, LIVING)).map(({ id }) => id)
}

/* Not a statement of a ledger: it concerns the sessions of the server. */
const END_IDLE = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and state like 'idle in transaction%' and pid <> pg_backend_pid()`

/**
 * Simulates what PostgreSQL does to a process that is frozen in a transaction: ends its session,
 * and releases its locks.
 */
export async function endIdleTransactions(pool: Pool): Promise<void> {
  await pool.query(END_IDLE)
}
