import type { PoolClient } from 'pg'
import { onTestFinished } from 'vitest'
import { freshDatabase, type TestDatabase } from './database.ts'
import { until } from './until.ts'

/*
 * Rows of the ledger that a test inserts to try one statement. All of them are in shard 0, in any
 * state.
 */
export interface SeededLedger {
  readonly db: TestDatabase
  readonly subscriber: number
  /** A receipt with one job. Columns that are not given have their defaults. */
  job(number: number, columns?: Record<string, unknown>): Promise<SeededJob>
  /** A row of any table of the ledger. */
  row(table: string, columns: Record<string, unknown>): Promise<void>
  /** These columns of the job with this number, as text. */
  jobIs(number: number, ...columns: string[]): Promise<Record<string, string | null>>
  /** Runs statements that must not wait for a lock: a wait of more than a second is an error. */
  withoutWaiting<Result>(run: (client: PoolClient) => Promise<Result>): Promise<Result>
  /** Runs statements in a transaction that stays open until the test ends. */
  inOpenTransaction(run: (client: PoolClient) => Promise<unknown>): Promise<void>
  /** Whether an open transaction holds these rows. */
  isLocked(table: string, where: string): Promise<boolean>
  /** Holds row locks in its own transaction until the test releases them, or ends. */
  locked(table: string, where: string): Promise<HeldRows>
}

export interface SeededJob {
  readonly shard: number
  readonly receiptId: string
  readonly subscriber: number
  readonly fence: number
}

export interface HeldRows {
  /** Changes the rows, in the transaction that locks them. */
  change(set: string): Promise<void>
  commit(): Promise<void>
  /** Waits until another statement waits for these rows. */
  awaited(): Promise<unknown>
}

/** The receipt id of a seeded job, or another id of shard 0. */
export function idOf(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
}

export async function seededLedger(): Promise<SeededLedger> {
  const db = await freshDatabase()
  const row = async (table: string, columns: Record<string, unknown>): Promise<void> => {
    const names = Object.keys(columns)
    const places = names.map((_, index) => `$${index + 1}`)
    await db.rows(
      `insert into hookonce.${table} (${names.join(', ')}) values (${places.join(', ')})`,
      Object.values(columns),
    )
  }
  await row('source', { tenant: 'default', name: 'test', key_seconds: 1e6, body_seconds: 1e5 })
  await row('subscriber', { tenant: 'default', source: 'test', name: 'all', pattern: '*' })
  const subscriber = await db.number('select max(id) from hookonce.subscriber')

  return {
    db,
    subscriber,
    row,
    async job(number, columns = {}) {
      const receiptId = idOf(number)
      await row('receipt', {
        shard: 0,
        id: receiptId,
        tenant: 'default',
        source: 'test',
        secret: 1,
        event_key: `evt_${number}`,
        event_type: 'x',
        body: Buffer.from('{}'),
      })
      const job = { shard: 0, receipt_id: receiptId, subscriber, state: 'received', ...columns }
      await row('job', job)
      return { shard: 0, receiptId, subscriber, fence: Number(columns.fence ?? 0) }
    },
    async jobIs(number, ...columns) {
      const [found] = await db.rows<Record<string, string | null>>(
        `select ${columns.map((column) => `${column}::text`).join(', ')} from hookonce.job where receipt_id = $1`,
        [idOf(number)],
      )
      if (!found) throw new Error(`there is no job ${number}`)
      return found
    },
    async withoutWaiting(run) {
      const client = await db.pool.connect()
      try {
        await client.query(`set lock_timeout = '1s'`)
        return await run(client)
      } finally {
        client.release(true)
      }
    },
    async inOpenTransaction(run) {
      const client = await db.pool.connect()
      onTestFinished(async () => {
        await client.query('rollback')
        client.release()
      })
      await client.query('begin')
      await run(client)
    },
    async isLocked(table, where) {
      const found = await db.rows(`select from hookonce.${table} where ${where}`)
      const free = await db.rows(`select from hookonce.${table} where ${where} for update skip locked`)
      return found.length > 0 && free.length === 0
    },
    async locked(table, where) {
      const client = await db.pool.connect()
      let isHeld = true
      const end = async (how: string): Promise<void> => {
        if (!isHeld) return
        isHeld = false
        await client.query(how)
        client.release()
      }
      onTestFinished(() => end('rollback'))
      await client.query(`begin; select from hookonce.${table} where ${where} for update`)
      return {
        change: async (set) =>
          void (await client.query(`update hookonce.${table} set ${set} where ${where}`)),
        commit: () => end('commit'),
        awaited: () =>
          until('a statement waits for the rows', async () => {
            const waiting = await db.number(
              `select count(*) from pg_locks l join pg_stat_activity a using (pid)
               where a.datname = current_database() and not l.granted`,
            )
            return waiting > 0
          }),
      }
    },
  }
}

/** A job under a live lease, with fence 3. */
export const LEASED = { state: 'processing', fence: 3, worker: 7, attempt: 1, started_at: new Date() }
