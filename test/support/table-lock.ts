import { onTestFinished } from 'vitest'
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/** Locks a table, so that the ledger answers only when the test releases it. */
export interface Lock {
  /** Waits until this many statements wait for the lock. */
  waiters(count: number): Promise<unknown>
  release(): Promise<void>
}

export async function lockTable(db: TestDatabase, table: string): Promise<Lock> {
  const client = await db.pool.connect()
  let released = false
  async function release(): Promise<void> {
    if (released) return
    released = true
    await client.query('commit')
    client.release()
  }
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  onTestFinished(release)
  return {
    waiters: (count) =>
      until(`${count} statements wait for the lock on ${table}`, async () => {
        const waiting = await db.number(
          `select count(distinct pid) from pg_locks l join pg_database d on d.oid = l.database
           where d.datname = current_database() and not l.granted`,
        )
        return waiting >= count
      }),
    release,
  }
}
