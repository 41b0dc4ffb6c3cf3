import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../../src/ledger/migrations/migrate.ts'
import { ledgerOfVersion, MIGRATION_FILES } from '../../support/old-schema.ts'
import { until } from '../../support/until.ts'

/* Migrations of a ledger that is in use. */

/** Among the later migrations, 0007 rewrites the table of effects. */
const OLD = 6
const MISSING = MIGRATION_FILES.length - OLD
const quick = { lockTimeoutMs: 100, pauseMs: 20 }

function poolOf(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

test('each migration has its own commit', async () => {
  const db = await ledgerOfVersion(OLD)
  await migrate(poolOf(db.url))
  const transactions = 'select count(distinct xmin::text) from hookonce.migration where id > $1'
  expect(await db.number(transactions, [OLD])).toBe(MISSING)
})

test('a migration gives way while a table is in use: readers do not queue behind it, and it succeeds in the end', async () => {
  const db = await ledgerOfVersion(OLD)
  const holder = await poolOf(db.url).connect()
  await holder.query('begin')
  await holder.query('select count(*) from hookonce.effect')
  const blocked = `select count(*) from pg_stat_activity where wait_event = 'relation' and datname = current_database()`

  const migrating = migrate(poolOf(db.url), quick)
  for (let time = 1; time <= 2; time += 1) {
    await until('the migration waits', async () => (await db.number(blocked)) === 1)
    // The statement is answered once the migration has given way, although the holder keeps its
    // lock.
    expect(await db.number('select count(*) from hookonce.effect')).toBe(0)
  }
  await holder.query('commit')
  holder.release()

  expect(await migrating).toHaveLength(MISSING)
  expect(await migrate(poolOf(db.url))).toEqual([])
})

test('two migrators take turns, and each migration is applied once', async () => {
  const db = await ledgerOfVersion(OLD)
  const applied = await Promise.all([migrate(poolOf(db.url), quick), migrate(poolOf(db.url), quick)])
  expect(applied.flat()).toHaveLength(MISSING)
})
